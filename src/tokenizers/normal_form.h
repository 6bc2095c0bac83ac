// The four normal forms of Unicode, for aligned text.
#pragma once
#include "tokenizers/aligned_text.h"

namespace sheaf::tokenizers {

struct NormalForm {
  bool composes;       // NFC and NFKC
  bool is_compatible;  // NFKC and NFKD
};

AlignedText normalized(AlignedText text, NormalForm form);

}  // namespace sheaf::tokenizers
