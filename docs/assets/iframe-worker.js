// Search from the disk: browsers start no worker from a file, so that a frame takes its place. The theme
// asks for a script of this name at another host; this one needs no network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html><title>search</title>";
      const url = new URL(address, document.baseURI).href;
      this.ready = new Promise((ready) => this.frame.addEventListener("load", () => {
        const inner = this.frame.contentWindow;
        const load = (source) => new Promise((loaded, failed) => {
          const script = inner.document.createElement("script");
          script.src = new URL(source, url).href;
          script.onload = loaded;
          script.onerror = failed;
          inner.document.body.append(script);
        });
        inner.importScripts = (...sources) => sources.reduce((before, each) => before.then(() => load(each)), Promise.resolve());
        inner.postMessage = (data) => {
          const event = new MessageEvent("message", { data });
          this.dispatchEvent(event);
          if (this.onmessage) this.onmessage(event);
        };
        load(url).then(() => ready(inner));
      }, { once: true }));
      document.body.append(this.frame);
    }
    postMessage(data) { this.ready.then((inner) => inner.dispatchEvent(new inner.MessageEvent("message", { data }))); }
    terminate() { this.frame.remove(); }
  };
}
