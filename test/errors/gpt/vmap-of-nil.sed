s/(get batch :targets)/(get batch :target)/
