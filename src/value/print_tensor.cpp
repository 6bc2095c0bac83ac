#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "tensor/transfer.h"
#include "value/print.h"
#include "value/print_parts.h"

namespace sheaf::printing {
namespace {

constexpr int64_t kLongest = 10, kEdge = 3;

// The indices of an axis that are shown; `elided` says that an ellipsis follows the first kEdge of them.
struct Shown {
  std::vector<int64_t> indices;
  bool elided;
};

Shown shown_of(int64_t size) {
  Shown s{{}, size > kLongest};
  int64_t head = s.elided ? kEdge : size;
  for (int64_t i = 0; i < head; ++i)
    s.indices.push_back(i);
  if (s.elided)
    for (int64_t i = size - kEdge; i < size; ++i)
      s.indices.push_back(i);
  return s;
}

void append_padded(std::string& out, const std::string& text, size_t width) {
  if (text.size() < width) out.append(width - text.size(), ' ');
  out += text;
}

// "[a b c]" with cells padded to `widths`, and the ellipsis of an elided axis.
std::string row_text(const std::vector<std::string>& cells, const std::vector<size_t>& widths, bool elided) {
  std::string out = "[";
  for (size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) out += ' ';
    if (elided && c == kEdge) out += "... ";
    append_padded(out, cells[c], widths[c]);
  }
  return out += ']';
}

// Of a tensor without elements: how many empty rows stand for it.
constexpr int64_t kMostBrackets = 1000;  // more of them tell nothing
int64_t num_brackets(const Tensor& t) {
  if (t.num_elems() > 0) return 0;
  int64_t rows = 1;
  for (int64_t size : t.sizes) {
    if (size == 0 || rows > kMostBrackets) break;
    rows *= std::min(size, kLongest);
  }
  return rows;
}

// Elements of a tensor by their offset. Of a large one on a device it fetches only the pieces that are asked for.
class Elements {
 public:
  explicit Elements(const Tensor& t)
      : buffer_(*t.buffer),
        width_(static_cast<size_t>(size_bytes(t.dtype))),
        by_piece_(!buffer_.is_on_host() && buffer_.size_bytes() >= kLarge) {}

  const std::byte* at(int64_t offset) const {
    const size_t first = static_cast<size_t>(offset) * width_;
    if (!by_piece_) return buffer_.host() + first;
    std::vector<std::byte>& piece = pieces_[first / kPiece];
    if (piece.empty()) {
      const size_t begin = first / kPiece * kPiece;
      piece.resize(std::min(kPiece, buffer_.size_bytes() - begin));
      fetch_part(buffer_, begin, piece.data(), piece.size());
    }
    return piece.data() + first % kPiece;
  }

 private:
  static constexpr size_t kLarge = 1 << 20, kPiece = 256;  // bytes

  const Buffer& buffer_;
  size_t width_;
  bool by_piece_;
  mutable std::map<size_t, std::vector<std::byte>> pieces_;
};

class TensorPrinter {
 public:
  TensorPrinter(const Tensor& t, const Style& style) : t_(t), elements_(t), style_(style) {}

  std::string block(int axis, int64_t offset) const {
    int rest = t_.rank() - axis;
    if (rest == 0) return cell(offset);
    if (rest == 1) return vector(axis, offset);
    if (rest == 2) return matrix(axis, offset);
    Shown blocks = shown_of(t_.sizes[axis]);
    std::vector<std::string> lines;
    for (int64_t i : blocks.indices) {
      if (blocks.elided && lines.size() == kEdge) lines.push_back("...");
      lines.push_back(block(axis + 1, offset + i * t_.strides[axis]));
    }
    return bracketed(lines);
  }

 private:
  std::string cell(int64_t offset) const { return element_text_at(t_.dtype, elements_.at(offset), style_.precision); }

  std::vector<std::string> cells(int axis, int64_t offset, const Shown& shown) const {
    std::vector<std::string> out;
    for (int64_t i : shown.indices)
      out.push_back(cell(offset + i * t_.strides[axis]));
    return out;
  }

  bool pads() const { return t_.dtype != DType::Bool; }

  std::string vector(int axis, int64_t offset) const {
    Shown shown = shown_of(t_.sizes[axis]);
    std::vector<std::string> texts = cells(axis, offset, shown);
    size_t widest = 0;
    if (pads())
      for (const std::string& s : texts)
        widest = std::max(widest, s.size());
    return row_text(texts, std::vector<size_t>(texts.size(), widest), shown.elided);
  }

  std::string matrix(int axis, int64_t offset) const {
    Shown rows = shown_of(t_.sizes[axis]), cols = shown_of(t_.sizes[axis + 1]);
    std::vector<std::vector<std::string>> table;
    for (int64_t r : rows.indices)
      table.push_back(cells(axis + 1, offset + r * t_.strides[axis], cols));
    std::vector<size_t> widths(cols.indices.size(), 0);
    if (pads()) {
      for (size_t& w : widths)
        w = rows.elided ? 3 : 0;
      for (const auto& row : table)
        for (size_t c = 0; c < row.size(); ++c)
          widths[c] = std::max(widths[c], row[c].size());
    }
    std::vector<std::string> lines;
    for (const auto& row : table) {
      if (rows.elided && lines.size() == kEdge)
        lines.push_back(row_text(std::vector<std::string>(widths.size(), "..."), widths, cols.elided));
      lines.push_back(row_text(row, widths, cols.elided));
    }
    return bracketed(lines);
  }

  static std::string bracketed(const std::vector<std::string>& lines) {
    std::string out = "[";
    for (size_t i = 0; i < lines.size(); ++i) {
      if (i > 0) out += "\n ";
      out += lines[i];
    }
    return out += ']';
  }

  const Tensor& t_;
  const Elements elements_;
  const Style& style_;
};

}  // namespace

std::string element_text_at(DType d, const std::byte* p, int precision) {
  if (is_float(d)) return decimal_text(load_double(d, p), d, ".", precision);
  if (is_complex(d)) {
    std::string imaginary = element_text_at(DType::F32, p + sizeof(float), precision);
    if (imaginary[0] != '-') imaginary.insert(0, "+");
    return element_text_at(DType::F32, p, precision) + imaginary + 'j';
  }
  if (d == DType::Bool) return load_double(d, p) != 0 ? "true" : "false";
  if (d == DType::I64) {
    int64_t v;
    std::memcpy(&v, p, sizeof v);
    return std::to_string(v);
  }
  return std::to_string(static_cast<int64_t>(load_double(d, p)));
}

std::string tensor_text(const Tensor& t, const Style& style) {
  if (num_brackets(t) > kMostBrackets) return "[]";
  return TensorPrinter(t, style).block(0, t.offset);
}

}  // namespace sheaf::printing

namespace sheaf {

std::string element_text(const Tensor& t, int64_t flat) {
  int64_t offset = t.offset;
  for (int a = t.rank() - 1; a >= 0; --a) {
    offset += flat % t.sizes[a] * t.strides[a];
    flat /= t.sizes[a];
  }
  return printing::element_text_at(t.dtype, t.buffer->host() + offset * size_bytes(t.dtype));
}

std::string tensor_type_text(const Tensor& t) {
  return std::string(name_of(t.dtype)) + "[" + shape_x_text(t.sizes) + "]";
}

}  // namespace sheaf
