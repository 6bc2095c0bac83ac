#include "fuzz/typed_programs.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace fuzz {
namespace {

int num_elems(const Shape& s) { return std::accumulate(s.begin(), s.end(), 1, [](int a, int b) { return a * b; }); }

std::string shape_text(const Shape& s) { return fmt::format("[{}]", fmt::join(s, " ")); }

class Generator {
 public:
  explicit Generator(Rng& rng) : rng_(rng) {}

  std::string literal(const Shape& shape, size_t axis = 0) {
    if (axis == shape.size()) return fmt::format("{:.4f}", (rng_.below(65) - 32) / 16.0 + 0.0137);
    std::string out = "[";
    for (int i = 0; i < shape[axis]; ++i) out += (i ? " " : "") + literal(shape, axis + 1);
    return out + "]";
  }

  std::string expr(const Shape& shape, int depth) {
    if (depth <= 0) return leaf(shape);
    for (int attempt = 0; attempt < 20; ++attempt) {
      std::string text = rule(shape, depth - 1);
      if (!text.empty()) return text;
    }
    return leaf(shape);
  }

  std::vector<std::pair<std::string, Shape>> scope;

 private:
  std::string leaf(const Shape& shape) {
    std::vector<std::string> fits;
    for (const auto& [name, s] : scope) {
      if (s == shape) fits.push_back(name);
      else if (!s.empty() && shape.empty()) fits.push_back(fmt::format("({} {})", rng_.pick({"sum", "mean"}), name));
      else if (!shape.empty() && !s.empty() && num_elems(s) == num_elems(shape)) fits.push_back(fmt::format("(reshape {} {})", name, shape_text(shape)));
    }
    return fits.empty() || rng_.chance(0.1) ? literal(shape) : rng_.pick(fits);
  }

  std::string fresh(const char* stem) { return fmt::format("{}{}", stem, ++counter_); }

  Shape broadcastable(Shape s) {
    if (s.empty() || rng_.chance(0.5)) return s;
    if (rng_.chance(0.4)) return {};
    if (rng_.chance(0.5)) return Shape(s.begin() + 1, s.end());
    s[static_cast<size_t>(rng_.below(static_cast<int>(s.size())))] = 1;
    return s;
  }

  std::string bound(const char* name, const Shape& s, const Shape& result, int depth) {
    scope.emplace_back(name, s);
    std::string body = expr(result, depth);
    scope.pop_back();
    return body;
  }

  std::string rule(const Shape& s, int d) {
    const int rank = static_cast<int>(s.size());
    const int axis = rank ? rng_.below(rank) : 0;
    auto with = [&](int at, int size) { Shape t = s; t[static_cast<size_t>(at)] = size; return t; };
    auto inserted = [&](int at, int size) { Shape t = s; t.insert(t.begin() + at, size); return t; };
    switch (rng_.below(34)) {
      case 0: case 1: case 2:
        return fmt::format("({} {})", rng_.pick({"sin", "cos", "tanh", "sigmoid", "gelu", "silu", "erf", "expm1", "-", "relu", "abs", "celu", "inc"}), expr(s, d));
      case 3: return fmt::format("({} (+ 1.5 (sin {})))", rng_.pick({"log", "sqrt", "log1p"}), expr(s, d));
      case 4: case 5: case 6:
        return fmt::format("({} {} {})", rng_.pick({"+", "-", "*", "maximum", "minimum"}), expr(s, d), expr(broadcastable(s), d - 1));
      case 7: return fmt::format("(/ {} (+ 2 (cos {})))", expr(s, d), expr(broadcastable(s), d - 1));
      case 8: return fmt::format("(** {} {})", expr(s, d), rng_.pick({"2", "3", "2.0"}));
      case 9: return fmt::format("(** (+ 2 (sin {})) {})", expr(s, d), expr(broadcastable(s), d - 1));
      case 10: return fmt::format("(where (> {} {}) {} {})", expr(s, d - 1), expr(broadcastable(s), 0), expr(s, d), expr(broadcastable(s), d - 1));
      case 11: case 12: {
        if (rank > 2) return "";
        int at = rng_.below(rank + 1);
        return fmt::format("({} {} :axis {})", rng_.pick({"sum", "mean", "var", "product", "logsumexp"}), expr(inserted(at, 1 + rng_.below(4)), d), at);
      }
      case 13: return rank ? "" : fmt::format("({} {})", rng_.pick({"sum", "mean", "var", "logsumexp", "norm"}), expr({2 + rng_.below(2), 3}, d));
      case 14: return rank == 2 ? fmt::format("(tr {})", expr({s[1], s[0]}, d)) : "";
      case 15: return rank ? fmt::format("(slice {} 1 {} :axis {})", expr(with(axis, s[static_cast<size_t>(axis)] + 2), d), 1 + s[static_cast<size_t>(axis)], axis) : "";
      case 16: {
        if (!rank || s[static_cast<size_t>(axis)] < 2) return "";
        int k = s[static_cast<size_t>(axis)];
        return fmt::format("(concat {} {} :axis {})", expr(with(axis, 1), d), expr(with(axis, k - 1), d), axis);
      }
      case 17: return rank ? fmt::format("({} {} {} :axis {})", "roll", expr(s, d), rng_.below(5) - 2, axis) : "";
      case 18: return rank ? fmt::format("(flip {} :axis {})", expr(s, d), axis) : "";
      case 19: return rank ? fmt::format("(pad (slice {} 0 1 :axis {}) {})", expr(with(axis, 2), d), axis, pad_widths(s, axis)) : "";
      case 20: return rank < 3 ? fmt::format("(get {} {})", expr(inserted(0, 3), d), rng_.below(6) - 3) : "";
      case 21: {
        if (!rank) return "";
        std::string idx;
        for (int i = 0; i < s[0]; ++i) idx += fmt::format("{}{}", i ? " " : "", rng_.below(3));
        return fmt::format("(get {} [{}])", expr(with(0, 3), d), idx);
      }
      case 22: case 23: {
        int k = 1 + rng_.below(3);
        if (rank == 2) return fmt::format("(@ {} {})", expr({s[0], k}, d), expr({k, s[1]}, d));
        if (rank == 1) return fmt::format("(@ {} {})", expr({k}, d), expr({k, s[0]}, d));
        if (rank == 0) return fmt::format("(@ {} {})", expr({k}, d), expr({k}, d));
        return fmt::format("(@ {} {})", expr({s[0], s[1], k}, d), expr({s[0], k, s[2]}, d));
      }
      case 24: return rank == 2 ? fmt::format("(einsum \"ij,kj,j->ik\" {} {} {})", expr({s[0], 2}, d), expr({s[1], 2}, d), expr({2}, d - 1)) : "";
      case 25: return rank ? fmt::format("({} {} :axis {})", rng_.pick({"softmax", "log-softmax", "cumsum", "cumprod", "sort"}), expr(s, d), axis) : "";
      case 26: return rank && s.back() > 1 ? fmt::format("({} {} {{:gamma {} :beta {}}} -1)", rng_.pick({"layer-norm", "rms-norm"}), expr(s, d), leaf({s.back()}), leaf({s.back()})) : "";
      case 27: {
        std::string t = fresh("t");
        Shape inner = rng_.chance(0.5) ? s : Shape{3};
        std::string value = expr(inner, d), body = bound(t.c_str(), inner, s, d);
        return rng_.chance(0.5) ? fmt::format("(let [{} {}] {})", t, value, body) : fmt::format("((fn [{}] {}) {})", t, body, value);
      }
      case 28: {
        if (!rank) return "";
        std::string r = fresh("r");
        Shape inner = rng_.chance(0.5) ? Shape(s.begin() + 1, s.end()) : Shape{2};
        Shape outer = inner;
        outer.insert(outer.begin(), s[0]);
        std::string xs = expr(outer, d);
        return fmt::format("((vmap (fn [{}] {})) {})", r, bound(r.c_str(), inner, Shape(s.begin() + 1, s.end()), d), xs);
      }
      case 29: {
        std::string a = fresh("a"), x = fresh("x");
        std::string init = leaf(s), xs = expr({2}, d);
        scope.emplace_back(a, s);
        std::string body = bound(x.c_str(), {}, s, d);
        scope.pop_back();
        return fmt::format("(reduce (fn [{} {}] {}) {} {})", a, x, body, init, xs);
      }
      case 30: {
        std::string a = fresh("a");
        std::string init = leaf(s);
        return fmt::format("(repeat [i {}] [{} {}] {})", rng_.below(4), a, init, bound(a.c_str(), s, s, d));
      }
      case 31: return fmt::format("(if (> {} {}) {} {})", expr({}, d - 1), literal({}), expr(s, d), expr(s, d - 1));
      case 32: return fmt::format("(get {{:u {} :v {}}} :u)", expr(s, d), expr({2}, d - 1));
      default: return rank > 1 && rank < 3 ? fmt::format("(stack (map (fn [k] (* (+ 1 k) {})) (range {})))", expr(Shape(s.begin() + 1, s.end()), d), s[0]) : "";
    }
  }

  std::string pad_widths(const Shape& s, int axis) {
    std::string out = "[";
    for (int i = 0; i < static_cast<int>(s.size()); ++i) out += i == axis ? fmt::format("[0 {}]", s[static_cast<size_t>(i)] - 1) : "[0 0]";
    return out + "]";
  }

  Rng& rng_;
  int counter_ = 0;
};

}  // namespace

TypedProgram typed_program(Rng& rng) {
  static const std::vector<Shape> shapes = {{3}, {2, 3}, {4}, {2, 2}, {1, 3}, {2, 1, 2}, {5}};
  Generator g(rng);
  TypedProgram p;
  p.shape = rng.pick(shapes);
  g.scope.emplace_back("x", p.shape);
  Shape inner = rng.chance(0.5) ? Shape{} : rng.pick(shapes);
  std::string body = g.expr(inner, 2 + rng.below(3));
  p.function = fmt::format("(defn f [x] (sum {}))", body);
  p.argument = g.literal(p.shape);
  p.direction = g.literal(p.shape);
  return p;
}

}  // namespace fuzz
