// The origin of a nil. A key missing from a dict gives nil, and the error occurs later, elsewhere; the last such miss
// on this thread is recorded so that the report can name it.
#pragma once
#include <optional>
#include <string>

#include "support/name.h"
#include "value/dict.h"

namespace sheaf::builtins {

// ":Wk :Wv": the first few keys of a dict.
std::string key_list(const DictObj& dict);
// Records a miss at the current form (trace::current_span), or at `span` if given.
void remember_missing_key(Name key, const DictObj& dict, Span span = {});
// "no key :Wq in p (has :Wk :Wv), at FILE:LINE:COLUMN", if the message mentions a nil and there was a miss.
std::optional<std::string> explain_nil(const std::string& message);

}  // namespace sheaf::builtins
