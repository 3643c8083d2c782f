"use strict";
const root = document.documentElement;

document.querySelector(".theme").addEventListener("click", () => {
  const dark = getComputedStyle(root).getPropertyValue("--is-dark").trim() === "1";
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("minicosm-theme", root.dataset.theme); } catch (error) { /* not kept */ }
});

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(button.dataset.text); button.textContent = "copied"; }
    catch (error) {
      const range = document.createRange();
      range.selectNodeContents(button.previousElementSibling);
      getSelection().removeAllRanges(); getSelection().addRange(range);
      button.textContent = "selected";
    }
    setTimeout(() => { button.textContent = "copy"; }, 1600);
  });
}

// A link to a claim opens it.
function arrive() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.matches("details.claim")) {
    if (target.hidden) clear(target.closest(".chapter").querySelector(".filters"));
    target.open = true;
  }
  settle(target);
}

// Claims on the way get their heights once they are drawn: scroll until the target stays where it is.
function settle(target, still = 0, frames = 30) {
  const before = target.getBoundingClientRect().top;
  target.scrollIntoView();
  const stays = Math.abs(target.getBoundingClientRect().top - before) < 1;
  if (frames && (!stays || still < 2)) requestAnimationFrame(() => settle(target, stays ? still + 1 : 0, frames - 1));
}
addEventListener("hashchange", arrive);

// What a filter hides is shown again.
function clear(form) {
  form.reset();
  form.elements.state.value = "";
  form.dispatchEvent(new Event("input"));
}

// The bar scrolls where it is narrow: the page that is open is in sight.
const bar = document.querySelector(".bar nav"), here = bar.querySelector("[aria-current]");
if (here) bar.scrollLeft = here.offsetLeft - bar.offsetLeft - (bar.clientWidth - here.clientWidth) / 2;

// Filters: of every form those of its own chapter.
for (const form of document.querySelectorAll(".filters")) {
  const chapter = form.closest(".chapter");
  const claims = [...chapter.querySelectorAll("details.claim")];
  const apply = () => {
    const wanted = [...new FormData(form)].filter(([, value]) => value);
    let shown = 0;
    for (const claim of claims) {
      claim.hidden = !wanted.every(([name, value]) => claim.dataset[name] === value);
      shown += !claim.hidden;
    }
    for (const group of chapter.querySelectorAll("section.group"))
      group.hidden = !group.querySelector("details.claim:not([hidden])");
    form.querySelector("output").textContent =
      shown === claims.length ? `${shown} claims` : `${shown} of ${claims.length} claims`;
  };
  const asked = new URLSearchParams(location.search).get("state");
  const state = form.elements.state;
  if (asked && [...state.options].some((option) => option.value === asked)) state.value = asked;
  form.addEventListener("input", apply);
  apply();
  const unfold = form.querySelector(".unfold");
  unfold.addEventListener("click", () => {
    const open = unfold.textContent === "open all";
    for (const claim of claims) if (!claim.hidden) claim.open = open;
    unfold.textContent = open ? "close all" : "open all";
  });
}
arrive();

// Where the window is narrow long formulas scroll: the keyboard reaches those that do.
function reach(part) {
  if (!matchMedia("(max-width: 44rem)").matches) return;
  const formulas = [...part.querySelectorAll(".near")].filter((each) => each.scrollWidth > each.clientWidth);
  for (const each of formulas) { each.tabIndex = 0; each.role = "group"; each.ariaLabel = "Formula"; }
}
for (const claim of document.querySelectorAll("details.claim"))
  claim.addEventListener("toggle", () => { if (claim.open) reach(claim); });
for (const part of document.querySelectorAll(".about, .erratum-list, .misprints, summary .title")) reach(part);
let opened = [];  // for print
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details.claim:not([open]), .deviations:not([open])")];
  for (const each of opened) each.open = true;
});
addEventListener("afterprint", () => { for (const each of opened) each.open = false; });

// Search over everything: all words, in titles first.
const input = document.querySelector(".search input");
const found = document.getElementById("found"), heard = document.getElementById("heard");
const MOST = 12;
const fold = (text) => text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "");
const texts = CLAIMS.map((claim) => ({ claim, title: fold(`${claim.title} ${claim.id}`), all: fold(claim.text) }));
let chosen = -1;

function choose(place) {
  const options = [...found.querySelectorAll("[role=option]")];
  chosen = options.length ? (place + options.length) % options.length : -1;
  options.forEach((option, i) => option.setAttribute("aria-selected", String(i === chosen)));
  if (chosen >= 0) { input.setAttribute("aria-activedescendant", options[chosen].id); options[chosen].scrollIntoView({ block: "nearest" }); }
}

function seek() {
  const words = fold(input.value).split(/\s+/).filter(Boolean);
  const scored = words.length === 0 ? [] : texts
    .map((entry) => ({ entry, score: words.every((word) => (entry.title + " " + entry.all).includes(word)) ? 1 + words.filter((word) => entry.title.includes(word)).length : 0 }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  found.replaceChildren(...scored.slice(0, MOST).map(({ entry: { claim } }, i) => {
    const option = document.createElement("li");
    option.id = `found-${i}`;
    option.setAttribute("role", "option");
    const link = document.createElement("a");
    link.href = claim.address; link.tabIndex = -1;
    const dot = document.createElement("i"); dot.className = `dot ${claim.state}`;
    const title = document.createElement("span"); title.textContent = claim.title;
    const id = document.createElement("span"); id.className = "id"; id.textContent = claim.id;
    link.append(dot, title, id);
    link.addEventListener("click", close);
    option.append(link);
    return option;
  }));
  const said = !scored.length ? "No claim has all these words." : scored.length > MOST ? `${MOST} of ${scored.length} claims` : "";
  if (words.length && said) {
    const note = document.createElement("li"); note.className = "none"; note.textContent = said;
    found.append(note);
  }
  heard.textContent = words.length ? said || `${scored.length} ${scored.length === 1 ? "claim" : "claims"}` : "";
  found.hidden = words.length === 0;
  input.setAttribute("aria-expanded", String(!found.hidden));
  chosen = -1;
}
function close() { found.hidden = true; input.setAttribute("aria-expanded", "false"); }

input.addEventListener("input", seek);
input.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") { choose(chosen + 1); event.preventDefault(); }
  else if (event.key === "ArrowUp") { choose(chosen - 1); event.preventDefault(); }
  else if (event.key === "Enter") { const link = found.children[Math.max(chosen, 0)]?.querySelector("a"); if (link) { link.click(); input.blur(); } }
  else if (event.key === "Escape") { input.value = ""; seek(); input.blur(); }
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { input.focus(); event.preventDefault(); }
});
document.addEventListener("click", (event) => { if (!event.target.closest(".bar")) close(); });
