"""Translation of real text: training, distillation and scores on files that a user gives."""
