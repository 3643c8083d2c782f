"""What is proved about Transformers on bounded Dyck languages, as code that runs."""
