// Compiles a subscript to transposes, products and sums:
//  1. Read every term into labels; `...` becomes separate labels, aligned at the right.
//  2. A label that occurs twice in one operand selects its diagonal; an axis of size 1 that meets a larger one is
//     dropped (it broadcasts).
//  3. Sum over labels that occur nowhere else.
//  4. While two or more operands are left, contract the pair whose memory shrinks most: `dot` over the labels that
//     vanish, with shared labels that stay as its batch; an elementwise product if no label vanishes or only the batch
//     stays.
//  5. Transpose the axes of the last operand to the order of the output.
#include "builtins/arrays/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "builtins/arrays/mixed.h"
#include "support/error.h"

namespace sheaf::builtins {
namespace {

// A letter, or kEllipsis + the distance from the right end of the `...`.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 1000;
constexpr Label kDots = 999;  // represents the whole `...` until its length is known

struct Term {
  Labels labels;
  std::string text;
};

struct Array {
  Operand x;
  Labels labels;
  bool has(Label l) const { return std::find(labels.begin(), labels.end(), l) != labels.end(); }
  int axis(Label l) const { return static_cast<int>(std::find(labels.begin(), labels.end(), l) - labels.begin()); }
  Size size(Label l) const { return x.size(axis(l)); }
};

bool contains(const Labels& ls, Label l) { return std::find(ls.begin(), ls.end(), l) != ls.end(); }

std::string label_text(Label l) { return l >= kEllipsis ? "..." : std::string(1, static_cast<char>(l)); }

Term read_term(std::string_view text) {
  Term t{{}, std::string(text)};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "...") {
      if (contains(t.labels, kDots)) throw runtime_error(fmt::format("einsum: '...' appears twice in '{}'", text));
      t.labels.push_back(kDots);
      i += 2;
    } else if ((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z') {
      t.labels.push_back(static_cast<unsigned char>(text[i]));
    } else {
      throw runtime_error(fmt::format("einsum: '{}' in subscript '{}' is not a label", text[i], text))
          .hint("labels are the letters a to z and A to Z");
    }
  }
  return t;
}

struct Subscript {
  std::vector<Term> inputs;
  Term output;
};

Subscript read_subscript(std::string_view text) {
  std::string s;
  for (char ch : text)
    if (ch != ' ') s += ch;
  size_t arrow = s.find("->");
  if (arrow == std::string::npos) throw runtime_error("einsum: subscript must contain '->'");
  Subscript out{{}, read_term(std::string_view(s).substr(arrow + 2))};
  std::string_view rest = std::string_view(s).substr(0, arrow);
  for (;;) {
    size_t end = std::min(rest.find(','), rest.size());
    out.inputs.push_back(read_term(rest.substr(0, end)));
    if (end == rest.size()) return out;
    rest.remove_prefix(end + 1);
  }
}

Labels expand_dots(const Labels& labels, int length) {
  Labels out;
  for (Label l : labels) {
    if (l != kDots)
      out.push_back(l);
    else
      for (int i = length; i-- > 0;)
        out.push_back(kEllipsis + i);
  }
  return out;
}

// Permutes the axes of `a`.
Array ordered(const Array& a, const Labels& labels) {
  std::vector<int> perm;
  for (Label l : labels)
    perm.push_back(a.axis(l));
  return {ops::transpose(a.x, perm), labels};
}

Array drop_axis(const Array& a, int axis) {  // of size 1
  Labels rest = a.labels;
  rest.erase(rest.begin() + axis);
  return {ops::squeeze_axis(a.x, axis), rest};
}

// Step 2, first half: elements on the diagonal of two axes with the same label have stride n + 1 in the merged axis.
Array diagonal(Array a) {
  for (size_t i = 0; i < a.labels.size(); ++i) {
    auto again = std::find(a.labels.begin() + i + 1, a.labels.end(), a.labels[i]);
    if (again == a.labels.end()) continue;
    int p = static_cast<int>(i), q = static_cast<int>(again - a.labels.begin());
    Label l = a.labels[i];
    Size n = a.x.size(p);
    if (!(n == a.x.size(q)))
      throw runtime_error(fmt::format("einsum: label '{}' has sizes {} and {} in one operand", label_text(l), n.str(),
                                      a.x.size(q).str()));
    std::vector<int> perm;
    Labels rest;
    Sizes merged;
    for (int k = 0; k < a.x.rank(); ++k)
      if (k != p && k != q) {
        perm.push_back(k);
        rest.push_back(a.labels[k]);
        merged.push_back(a.x.size(k));
      }
    perm.push_back(p);
    perm.push_back(q);
    merged.push_back(n * n);
    rest.push_back(l);
    Operand flat = ops::reshape(ops::transpose(a.x, perm), merged);
    a = {ops::slice_axis(flat, flat.rank() - 1, 0, n, n.value() + 1), rest};
    i = static_cast<size_t>(-1);  // axes have moved: restart from the first
  }
  return a;
}

// Step 2, second half: sizes of a label are equal, or are 1 and broadcast.
void drop_stretched(std::vector<Array>& arrays) {
  for (size_t k = 0; k < arrays.size(); ++k)
    for (int i = arrays[k].x.rank() - 1; i >= 0; --i) {
      Label l = arrays[k].labels[i];
      Size n = arrays[k].x.size(i);
      for (size_t o = 0; o < arrays.size(); ++o) {
        const Array& other = arrays[o];
        if (!other.has(l) || other.size(l) == n || other.size(l) == Size(1)) continue;
        if (!(n == Size(1))) {
          UserError e = runtime_error(
              fmt::format("einsum: label '{}' has sizes {} and {}", label_text(l), n.str(), other.size(l).str()));
          auto operand = [&](size_t at) {
            return fmt::format("axis {} of operand {} {}", arrays[at].axis(l), static_cast<char>('A' + at % 26),
                               shape_text(arrays[at].x.sizes()));
          };
          e.label = fmt::format("it is {} and {}", operand(k), operand(o));
          throw e;
        }
        arrays[k] = drop_axis(arrays[k], i);
        break;
      }
    }
}

// Step 3.
Array sum_unneeded(Array a, const Labels& needed) {
  std::vector<int> axes;
  Labels rest;
  for (int i = 0; i < a.x.rank(); ++i) {
    if (contains(needed, a.labels[i]))
      rest.push_back(a.labels[i]);
    else
      axes.push_back(i);
  }
  return axes.empty() ? a : Array{ops::sum(a.x, axes), rest};
}

Sizes sizes_of(const Array& a, const Labels& labels) {
  Sizes s;
  for (Label l : labels)
    s.push_back(a.size(l));
  return s;
}

Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The roles of the labels of a pair.
struct Roles {
  Labels batch, left, right, summed;
};

Roles roles_of(const Array& a, const Array& b, const Labels& needed) {
  Roles r;
  for (Label l : a.labels)
    (!b.has(l) ? r.left : contains(needed, l) ? r.batch : r.summed).push_back(l);
  for (Label l : b.labels)
    if (!a.has(l)) r.right.push_back(l);
  return r;
}

Array multiply(const Array& a, const Array& b, const Roles& r) {
  Array x = ordered(a, joined(joined(r.batch, r.left), r.summed)),
        y = ordered(b, joined(joined(r.batch, r.right), r.summed));
  Sizes xs = sizes_of(a, joined(r.batch, r.left)), ys = sizes_of(b, r.batch);
  for (size_t i = 0; i < r.right.size(); ++i)
    xs.push_back(Size(1));
  for (size_t i = 0; i < r.left.size(); ++i)
    ys.push_back(Size(1));
  for (Size n : sizes_of(b, r.right))
    ys.push_back(n);
  for (Size n : sizes_of(a, r.summed)) {
    xs.push_back(n);
    ys.push_back(n);
  }
  Array z{ops::mul(ops::reshape(x.x, xs), ops::reshape(y.x, ys)),
          joined(joined(joined(r.batch, r.left), r.right), r.summed)};
  return sum_unneeded(z, joined(joined(r.batch, r.left), r.right));
}

// Step 4, for one pair.
Array contract(const Array& a, const Array& b, const Labels& needed) {
  Roles r = roles_of(a, b, needed);
  if (r.summed.empty() || (r.left.empty() && r.right.empty())) return multiply(a, b, r);
  Sizes batch = sizes_of(a, r.batch), left = sizes_of(a, r.left), right = sizes_of(b, r.right),
        summed = sizes_of(a, r.summed);
  Operand x = ops::reshape(ordered(a, joined(joined(r.batch, r.left), r.summed)).x,
                           {num_elems(batch), num_elems(left), num_elems(summed)});
  Operand y = ops::reshape(ordered(b, joined(joined(r.batch, r.summed), r.right)).x,
                           {num_elems(batch), num_elems(summed), num_elems(right)});
  Sizes out = batch;
  for (Size n : left)
    out.push_back(n);
  for (Size n : right)
    out.push_back(n);
  return {ops::reshape(mixed_dot(x, y), out), joined(joined(r.batch, r.left), r.right)};
}

double estimate(Size n) { return n.is_const() ? static_cast<double>(n.value()) : 64; }

// Growth of memory if the pair is contracted.
double growth(const Array& a, const Array& b, const Labels& needed) {
  Roles r = roles_of(a, b, needed);
  double before_a = 1, before_b = 1, after = 1;
  for (Label l : a.labels)
    before_a *= estimate(a.size(l));
  for (Label l : b.labels)
    before_b *= estimate(b.size(l));
  for (Label l : joined(r.batch, r.left))
    after *= estimate(a.size(l));
  for (Label l : r.right)
    after *= estimate(b.size(l));
  return after - before_a - before_b;
}

Labels needed_beside(const std::vector<Array>& arrays, size_t i, size_t j, const Labels& output) {
  Labels needed = output;
  for (size_t k = 0; k < arrays.size(); ++k)
    if (k != i && k != j) needed = joined(needed, arrays[k].labels);
  return needed;
}

std::string operand_letters(size_t n) {
  std::string s;
  for (size_t i = 0; i < n; ++i)
    s += fmt::format(", {}", static_cast<char>('a' + i % 26));
  return s;
}

}  // namespace

DType contraction_dtype(DType a, DType b) {
  if (a == DType::I8 && b == DType::I8) return DType::I8;
  DType d = promote(a, b);
  return d == DType::Bool ? DType::I32 : d;
}

Operand einsum(std::string_view text, std::vector<Operand> operands) {
  Subscript s = read_subscript(text);  // 1.
  if (s.inputs.size() != operands.size())
    throw runtime_error(fmt::format("einsum: expected {} arguments (subscript{}), got {}", s.inputs.size() + 1,
                                    operand_letters(s.inputs.size()), operands.size() + 1));
  int dots = 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    int named = 0;
    for (Label l : s.inputs[k].labels)
      named += l != kDots;
    int rank = operands[k].rank();
    bool open = contains(s.inputs[k].labels, kDots);
    if (rank < named || (rank > named && !open))
      throw runtime_error(fmt::format("einsum: operand {} has {} dimensions but subscript '{}' specifies {}",
                                      static_cast<char>('A' + k % 26), rank, s.inputs[k].text, named));
    if (open) dots = std::max(dots, rank - named);
  }
  Labels output = expand_dots(s.output.labels, dots);
  std::vector<Array> arrays;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Labels& labels = s.inputs[k].labels;
    int named = static_cast<int>(std::count_if(labels.begin(), labels.end(), [](Label l) { return l != kDots; }));
    arrays.push_back(diagonal({operands[k], expand_dots(labels, operands[k].rank() - named)}));  // 2.
  }
  for (size_t i = 0; i < output.size(); ++i) {
    if (std::count(output.begin(), output.end(), output[i]) > 1)
      throw runtime_error(fmt::format("einsum: label '{}' appears twice in the output", label_text(output[i])));
    if (std::none_of(arrays.begin(), arrays.end(), [&](const Array& a) { return a.has(output[i]); }))
      throw runtime_error(fmt::format("einsum: output label '{}' is in no operand", label_text(output[i])));
  }
  drop_stretched(arrays);
  for (size_t k = 0; k < arrays.size(); ++k)
    arrays[k] = sum_unneeded(arrays[k], needed_beside(arrays, k, k, output));  // 3.
  while (arrays.size() > 1) {                                                  // 4.
    size_t best_i = 0, best_j = 1;
    double best = HUGE_VAL;
    for (size_t i = 0; i < arrays.size(); ++i)
      for (size_t j = i + 1; j < arrays.size(); ++j) {
        double g = growth(arrays[i], arrays[j], needed_beside(arrays, i, j, output));
        if (g < best) best = g, best_i = i, best_j = j;
      }
    arrays[best_i] = contract(arrays[best_i], arrays[best_j], needed_beside(arrays, best_i, best_j, output));
    arrays.erase(arrays.begin() + best_j);
  }
  return ordered(arrays[0], output).x;  // 5.
}

}  // namespace sheaf::builtins
