"""Studies: one line of work each, with its trials and claims."""

from minicosm.studies.dyck import STUDY as DYCK
from minicosm.studies.head_and_prompt_tuning import STUDY as HEAD_AND_PROMPT_TUNING
from minicosm.studies.parallel_decoding import STUDY as PARALLEL_DECODING

STUDIES = (HEAD_AND_PROMPT_TUNING, DYCK, PARALLEL_DECODING)
