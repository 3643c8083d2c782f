"""Studies: one line of work each, with its trials and claims."""

from minicosm.studies.automata import STUDY as AUTOMATA
from minicosm.studies.contrastive import STUDY as CONTRASTIVE
from minicosm.studies.distillation import STUDY as DISTILLATION
from minicosm.studies.dyck import STUDY as DYCK
from minicosm.studies.flipflop import STUDY as FLIPFLOP
from minicosm.studies.guided import STUDY as GUIDED
from minicosm.studies.identifiability import STUDY as IDENTIFIABILITY
from minicosm.studies.nce import STUDY as NCE
from minicosm.studies.parallel import STUDY as PARALLEL
from minicosm.studies.topics import STUDY as TOPICS
from minicosm.studies.tuning import STUDY as TUNING

STUDIES = (
    TUNING,
    DYCK,
    GUIDED,
    PARALLEL,
    AUTOMATA,
    FLIPFLOP,
    TOPICS,
    DISTILLATION,
    NCE,
    CONTRASTIVE,
    IDENTIFIABILITY,
)
