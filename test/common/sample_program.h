// A short program and positions in it, for tests of errors and their reports.
#pragma once
#include <string>

#include "support/source.h"

namespace sheaf::sample {

inline const char* const kProgram =
    ";; one\n;; two\n;; three\n;; four\n\n;; keep the head of a signal\n(defn head [x]\n  (slise x 0 4))\n\n"
    "(head [1 2 3])\n";

// Where `part` first occurs.
inline Span span_of(uint32_t source, const std::string& part) {
  auto at = static_cast<uint32_t>(source_text(source).find(part));
  return {source, at, at + static_cast<uint32_t>(part.size())};
}

inline uint32_t program(SourceKind kind = SourceKind::File, const char* name = "/a/b.shf") {
  return add_source(name, kProgram, kind);
}

}  // namespace sheaf::sample
