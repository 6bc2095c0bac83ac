#include "support/source.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "support/mutex.h"

namespace sheaf {
namespace {

struct Source {
  std::string name;
  std::string text;
  SourceKind kind;
  std::vector<uint32_t> line_starts;
};

struct SourceTable {
  Mutex mu;
  std::deque<Source> sources GUARDED_BY(mu);  // stable addresses: entries are read without the lock once published
};

SourceTable& table() {
  static auto* t = new SourceTable;
  return *t;
}

const Source& get(uint32_t id) {
  MutexLock lock(table().mu);
  return table().sources[id - 1];
}

}  // namespace

uint32_t add_source(std::string name, std::string text, SourceKind kind) {
  Source s{std::move(name), std::move(text), kind, {0}};
  for (size_t i = 0; i < s.text.size(); ++i)
    if (s.text[i] == '\n') s.line_starts.push_back(static_cast<uint32_t>(i + 1));
  MutexLock lock(table().mu);
  table().sources.push_back(std::move(s));
  return static_cast<uint32_t>(table().sources.size());
}

const std::string& source_name(uint32_t id) { return get(id).name; }
const std::string& source_text(uint32_t id) { return get(id).text; }
SourceKind source_kind(uint32_t id) { return get(id).kind; }

LineCol start_of(const Span& span) {
  if (!span) return {};
  const Source& s = get(span.source);
  auto it = std::upper_bound(s.line_starts.begin(), s.line_starts.end(), span.begin);
  uint32_t line = static_cast<uint32_t>(it - s.line_starts.begin());
  uint32_t column = 1;
  for (uint32_t i = s.line_starts[line - 1]; i < span.begin && i < s.text.size(); ++i)
    if ((static_cast<unsigned char>(s.text[i]) & 0xC0) != 0x80) ++column;
  return {line, column};
}

std::string_view source_line(uint32_t source, uint32_t line) {
  const Source& s = get(source);
  if (line < 1 || line > s.line_starts.size()) return {};
  uint32_t begin = s.line_starts[line - 1];
  uint32_t end = line < s.line_starts.size() ? s.line_starts[line] - 1 : static_cast<uint32_t>(s.text.size());
  return std::string_view(s.text).substr(begin, end - begin);
}

uint32_t source_line_count(uint32_t source) { return static_cast<uint32_t>(get(source).line_starts.size()); }

std::string place(const Span& span) {
  if (!span) return "";
  LineCol at = start_of(span);
  return source_name(span.source) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

}  // namespace sheaf
