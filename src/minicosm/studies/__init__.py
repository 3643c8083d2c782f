"""Studies: one line of work each, with its trials and claims."""

from minicosm.studies.dyck import STUDY as DYCK
from minicosm.studies.guided import STUDY as GUIDED_GENERATION
from minicosm.studies.parallel import STUDY as PARALLEL_DECODING
from minicosm.studies.tuning import STUDY as HEAD_AND_PROMPT_TUNING

STUDIES = (HEAD_AND_PROMPT_TUNING, DYCK, GUIDED_GENERATION, PARALLEL_DECODING)
