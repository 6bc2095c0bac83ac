#include "formats/csv.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "support/error.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

[[noreturn]] void fail(const std::string& message) { throw runtime_error("csv: " + message); }

using Row = std::vector<std::string>;

struct Table {
  std::vector<Row> rows;
  std::vector<int64_t> lines;  // start of each row
};

// RFC 4180: cells may be quoted, with "" for a quote and line breaks inside. Skips empty lines.
Table read_rows(std::string_view text, char separator) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Table t;
  size_t at = 0;
  int64_t line = 1;
  while (at < text.size()) {
    Row row;
    int64_t first_line = line;
    bool quoted = false;
    for (bool more = true; more;) {
      std::string cell;
      if (at < text.size() && text[at] == '"') {
        quoted = true;
        for (++at;; ++at) {
          if (at >= text.size()) fail(fmt::format("line {}: a quoted cell does not end", first_line));
          if (text[at] == '"' && at + 1 < text.size() && text[at + 1] == '"')
            ++at;
          else if (text[at] == '"')
            break;
          line += text[at] == '\n';
          cell += text[at];
        }
        ++at;
        if (at < text.size() && text[at] != separator && text[at] != '\n' && text[at] != '\r')
          fail(fmt::format("line {}: text after a quoted cell", line));
      } else {
        while (at < text.size() && text[at] != separator && text[at] != '\n')
          cell += text[at++];
        if (cell.ends_with('\r')) cell.pop_back();
      }
      if (at < text.size() && text[at] == '\r') ++at;
      more = at < text.size() && text[at] == separator;
      if (at < text.size()) line += text[at++] == '\n';
      row.push_back(std::move(cell));
    }
    if (row.size() == 1 && row[0].empty() && !quoted) continue;
    if (!t.rows.empty() && row.size() != t.rows[0].size())
      fail(fmt::format("line {} has {} cell{}, the first row {}", first_line, row.size(), row.size() == 1 ? "" : "s",
                       t.rows[0].size()));
    t.rows.push_back(std::move(row));
    t.lines.push_back(first_line);
  }
  return t;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ')
    s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ')
    s.remove_suffix(1);
  return s;
}

template <class T>
bool parse(std::string_view s, T& v) {
  s = trimmed(s);
  if (s.starts_with('+')) s.remove_prefix(1);
  auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  return !s.empty() && r.ec == std::errc{} && r.ptr == s.data() + s.size();
}

// True for an empty cell, or another program's notation for one.
bool is_missing(std::string_view s) {
  s = trimmed(s);
  for (std::string_view word : {"", "NA", "N/A", "n/a", "<NA>", "#N/A", "NULL", "null", "None", "NaN", "nan"})
    if (s == word) return true;
  return false;
}

bool is_number(std::string_view s) {
  double v;
  return parse(s, v);
}

Value column(const std::vector<Row>& rows, size_t first, size_t c) {
  bool ints = true, numbers = true, bools = true, wide = false, exact = true, any = false;
  auto is_bool = [](const std::string& s) { return s == "true" || s == "false" || s == "True" || s == "False"; };
  for (size_t r = first; r < rows.size(); ++r) {
    const std::string& cell = rows[r][c];
    bools = bools && is_bool(cell);
    int64_t i = 0;
    bool is_int = parse(cell, i);
    ints = ints && is_int;
    wide = wide || i != static_cast<int32_t>(i);
    exact = exact && static_cast<double>(i) == static_cast<float>(i);
    bool missing = is_missing(cell);
    numbers = numbers && (is_int || missing || is_number(cell));
    any = any || !missing;
  }
  auto n = static_cast<int64_t>(rows.size() - first);
  auto tensor = [&](DType d, auto store) {
    Tensor t = empty_tensor(d, {n});
    for (int64_t i = 0; i < n; ++i)
      store(t.bytes_mut() + i * size_bytes(d), rows[first + i][c]);
    return Value::tensor(std::move(t));
  };
  if (n > 0 && bools)
    return tensor(DType::Bool,
                  [](std::byte* p, const std::string& s) { store_int(DType::Bool, p, s[0] == 't' || s[0] == 'T'); });
  if (n > 0 && ints) {
    DType d = wide ? DType::I64 : DType::I32;
    return tensor(d, [d](std::byte* p, const std::string& s) {
      int64_t i = 0;
      parse(s, i);
      store_int(d, p, i);
    });
  }
  if (any && numbers) {
    DType d = exact ? DType::F32 : DType::F64;
    return tensor(d, [d](std::byte* p, const std::string& s) {
      double v = NAN;
      if (!parse(s, v)) v = NAN;
      store_double(d, p, v);
    });
  }
  std::vector<Value> items;
  for (size_t r = first; r < rows.size(); ++r)
    items.push_back(Value::string(rows[r][c]));
  return Value::list(std::move(items));
}

Value matrix(const Table& t) {
  auto columns = static_cast<int64_t>(t.rows[0].size());
  Tensor m = empty_tensor(DType::F32, {static_cast<int64_t>(t.rows.size()), columns});
  auto* p = m.data_mut<float>();
  for (size_t r = 0; r < t.rows.size(); ++r)
    for (const std::string& cell : t.rows[r]) {
      double v = NAN;
      if (!parse(cell, v) && !is_missing(cell))
        fail(fmt::format("line {}: '{}' is not a number, but the first row is numbers without names", t.lines[r],
                         cell.substr(0, 40)));
      *p++ = static_cast<float>(v);
    }
  return Value::tensor(std::move(m));
}

std::string quoted(const std::string& s, char separator) {
  if (!s.empty() && s.find_first_of(std::string("\"\r\n ") + separator) == std::string::npos) return s;
  std::string out = "\"";
  for (char c : s)
    out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string cell_text(const Value& v, char separator) {
  if (v.is_nil()) return "";
  if (v.is_string()) return quoted(v.as_string(), separator);
  if (v.is_keyword()) return quoted(v.as_keyword().str(), separator);
  if (v.is_float() && std::isnan(v.as_float())) return "";
  if (v.is_number() || v.is_bool()) return render(v);
  if (v.is_tensor() && v.as_tensor().rank() == 0) return render(v);
  fail("a cell cannot hold " + std::string(type_name(v)));
}

std::string element_cell(const Tensor& t, int64_t i) {
  if (is_float(t.dtype) && std::isnan(element_as_double(t, i))) return "";
  std::string s = element_text(t, i);
  if (s.ends_with('.')) s += '0';
  return s;
}

size_t length_of(const Value& v, Name name) {
  if (v.is_seq()) return v.items().size();
  if (v.is_tensor() && v.as_tensor().rank() == 1) return static_cast<size_t>(v.as_tensor().sizes[0]);
  fail("column '" + name.str() + "' is neither a list nor a tensor of one axis");
}

}  // namespace

Value parse_csv(std::string_view text, char separator) {
  Table t = read_rows(text, separator);
  if (t.rows.empty()) return empty_dict();
  bool names = false;
  for (const std::string& cell : t.rows[0])
    names = names || !is_number(cell);
  if (!names) return matrix(t);
  std::vector<DictEntry> entries;
  for (size_t c = 0; c < t.rows[0].size(); ++c) {
    std::string name(trimmed(t.rows[0][c]));
    for (size_t k = 0; k < c; ++k)
      if (entries[k].key.str() == name) fail("two columns are named '" + name + "'");
    entries.push_back({Name(name), column(t.rows, 1, c)});
  }
  return make_dict(std::move(entries));
}

std::string write_csv(const Value& v, char separator) {
  std::string out;
  auto line = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i)
      out += (i ? std::string(1, separator) : "") + cells[i];
    out += '\n';
  };
  std::vector<std::string> cells;
  if (v.is_tensor() && v.as_tensor().rank() == 2) {
    const Tensor& t = v.as_tensor();
    for (int64_t r = 0; r < t.sizes[0]; ++r, cells.clear()) {
      for (int64_t c = 0; c < t.sizes[1]; ++c)
        cells.push_back(element_cell(t, r * t.sizes[1] + c));
      line(cells);
    }
    return out;
  }
  if (v.is_dict()) {
    auto columns = v.as_dict().entries();
    size_t rows = columns.empty() ? 0 : length_of(columns[0].value, columns[0].key);
    for (const DictEntry& e : columns) {
      if (length_of(e.value, e.key) != rows)
        fail(fmt::format("column '{}' has {} rows, '{}' {}", e.key.str(), length_of(e.value, e.key),
                         columns[0].key.str(), rows));
      cells.push_back(quoted(e.key.str(), separator));
    }
    line(cells);
    for (size_t r = 0; r < rows; ++r) {
      cells.clear();
      for (const DictEntry& e : columns)
        cells.push_back(e.value.is_tensor() ? element_cell(e.value.as_tensor(), static_cast<int64_t>(r))
                                            : cell_text(e.value.items()[r], separator));
      line(cells);
    }
    return out;
  }
  if (!v.is_seq())
    fail("cannot serialize " + std::string(type_name(v)) + " (only a dict of columns, a list of dicts, or a matrix)");
  for (size_t r = 0; r < v.items().size(); ++r) {
    if (!v.items()[r].is_dict()) fail("a row is not a dict but " + short_text(v.items()[r]));
    const DictObj &row = v.items()[r].as_dict(), &first = v.items()[0].as_dict();
    if (r == 0) {
      for (const DictEntry& e : first.entries())
        cells.push_back(quoted(e.key.str(), separator));
      line(cells);
    }
    cells.clear();
    for (const DictEntry& e : first.entries()) {
      const Value* x = row.find(e.key);
      if (!x) fail(fmt::format("row {} lacks '{}'", r, e.key.str()));
      cells.push_back(cell_text(*x, separator));
    }
    line(cells);
  }
  return out;
}

}  // namespace sheaf::formats
