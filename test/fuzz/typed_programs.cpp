#include "fuzz/typed_programs.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace fuzz {
namespace {

int num_elems(const Shape& s) {
  return std::accumulate(s.begin(), s.end(), 1, [](int a, int b) { return a * b; });
}

std::string shape_text(const Shape& s) { return fmt::format("[{}]", fmt::join(s, " ")); }

class Generator {
 public:
  explicit Generator(Rng& rng) : rng_(rng) {}

  std::string literal(const Shape& shape, size_t axis = 0) {
    if (axis == shape.size()) return fmt::format("{:.4f}", (rng_.below(65) - 32) / 16.0 + 0.0137);
    std::string out = "[";
    for (int i = 0; i < shape[axis]; ++i)
      out += (i ? " " : "") + literal(shape, axis + 1);
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
      if (s == shape)
        fits.push_back(name);
      else if (!s.empty() && shape.empty())
        fits.push_back(fmt::format("({} {})", rng_.pick({"sum", "mean"}), name));
      else if (!shape.empty() && !s.empty() && num_elems(s) == num_elems(shape))
        fits.push_back(fmt::format("(reshape {} {})", name, shape_text(shape)));
    }
    return fits.empty() || rng_.chance(0.1) ? literal(shape) : rng_.pick(fits);
  }

  // Added where equal values would make a kink: at a tie the derivative is a convention, not a slope.
  std::string offset() { return fmt::format("{:.6f}", 0.000731 + 0.0137 * rng_.below(97)); }
  // Distinct numbers, to tell elements apart.
  std::string ramp(const Shape& shape) {
    return fmt::format("(* 0.0173 (reshape (sin (* 1.7 (+ {} (range {})))) {}))", offset(), num_elems(shape),
                       shape_text(shape));
  }

  // A matrix whose diagonal steps by more than a sine can add up to.
  std::string spread(int rows, int columns) {
    return fmt::format("(* {} (eye {} {}) (+ 1 (reshape (range {}) [{} 1])))", 3 * std::max(rows, columns), rows,
                       columns, rows, rows);
  }

  // Of the argument's dtype even if it is a literal: values written into it must not be rounded to f32.
  std::string wide(const Shape& s, int depth) { return fmt::format("(+ {} (* 0 (sum x)))", expr(s, depth)); }

  std::string indices(int count, int below) {
    std::string s;
    for (int i = 0; i < count; ++i)
      s += fmt::format("{}{}", i ? " " : "", rng_.below(below));
    return s;
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

  // A body that uses only its parameter.
  std::string closed(const std::string& name, const Shape& s, const Shape& result, int depth) {
    std::vector<std::pair<std::string, Shape>> outer = std::exchange(scope, {{name, s}});
    std::string body = expr(result, depth);
    scope = std::move(outer);
    return body;
  }

  std::string rule(const Shape& s, int d) {
    const int rank = static_cast<int>(s.size());
    const int axis = rank ? rng_.below(rank) : 0;
    auto with = [&](int at, int size) {
      Shape t = s;
      t[static_cast<size_t>(at)] = size;
      return t;
    };
    auto inserted = [&](int at, int size) {
      Shape t = s;
      t.insert(t.begin() + at, size);
      return t;
    };
    switch (rng_.below(71)) {
      case 0:
      case 1:
      case 2:
        if (rng_.chance(0.2))
          return fmt::format("({} (+ {} {}))", rng_.pick({"relu", "abs", "celu"}), expr(s, d), offset());
        return fmt::format("({} {})",
                           rng_.pick({"sin", "cos", "tanh", "sigmoid", "gelu", "silu", "erf", "expm1", "-", "inc"}),
                           expr(s, d));
      case 3: return fmt::format("({} (+ 1.5 (sin {})))", rng_.pick({"log", "sqrt", "log1p"}), expr(s, d));
      case 4:
      case 5:
      case 6:
        if (rng_.chance(0.4))
          return fmt::format("({} {} (+ {} {}))", rng_.pick({"maximum", "minimum"}), expr(s, d),
                             expr(broadcastable(s), d - 1), offset());
        return fmt::format("({} {} {})", rng_.pick({"+", "-", "*"}), expr(s, d), expr(broadcastable(s), d - 1));
      case 7: return fmt::format("(/ {} (+ 2 (cos {})))", expr(s, d), expr(broadcastable(s), d - 1));
      case 8: return fmt::format("(** {} {})", expr(s, d), rng_.pick({"2", "3", "2.0"}));
      case 9: return fmt::format("(** (+ 2 (sin {})) {})", expr(s, d), expr(broadcastable(s), d - 1));
      case 10:
        return fmt::format("(where (> {} {}) {} {})", expr(s, d - 1), expr(broadcastable(s), 0), expr(s, d),
                           expr(broadcastable(s), d - 1));
      case 11:
      case 12: {
        if (rank > 2) return "";
        int at = rng_.below(rank + 1);
        return fmt::format("({} {} :axis {})", rng_.pick({"sum", "mean", "var", "product", "logsumexp"}),
                           expr(inserted(at, 1 + rng_.below(4)), d), at);
      }
      case 13:
        return rank ? ""
                    : fmt::format("({} {})", rng_.pick({"sum", "mean", "var", "logsumexp", "norm"}),
                                  expr({2 + rng_.below(2), 3}, d));
      case 14: return rank == 2 ? fmt::format("(tr {})", expr({s[1], s[0]}, d)) : "";
      case 15:
        return rank ? fmt::format("(slice {} 1 {} :axis {})", expr(with(axis, s[static_cast<size_t>(axis)] + 2), d),
                                  1 + s[static_cast<size_t>(axis)], axis)
                    : "";
      case 16: {
        if (!rank || s[static_cast<size_t>(axis)] < 2) return "";
        int k = s[static_cast<size_t>(axis)];
        return fmt::format("(concat {} {} :axis {})", expr(with(axis, 1), d), expr(with(axis, k - 1), d), axis);
      }
      case 17: return rank ? fmt::format("({} {} {} :axis {})", "roll", expr(s, d), rng_.below(5) - 2, axis) : "";
      case 18: return rank ? fmt::format("(flip {} :axis {})", expr(s, d), axis) : "";
      case 19:
        return rank ? fmt::format("(pad (slice {} 0 1 :axis {}) {})", expr(with(axis, 2), d), axis, pad_widths(s, axis))
                    : "";
      case 20: return rank < 3 ? fmt::format("(get {} {})", expr(inserted(0, 3), d), rng_.below(6) - 3) : "";
      case 21: {
        if (!rank) return "";
        std::string idx;
        for (int i = 0; i < s[0]; ++i)
          idx += fmt::format("{}{}", i ? " " : "", rng_.below(3));
        return fmt::format("(get {} [{}])", expr(with(0, 3), d), idx);
      }
      case 22:
      case 23: {
        int k = 1 + rng_.below(3);
        if (rank == 2) return fmt::format("(@ {} {})", expr({s[0], k}, d), expr({k, s[1]}, d));
        if (rank == 1) return fmt::format("(@ {} {})", expr({k}, d), expr({k, s[0]}, d));
        if (rank == 0) return fmt::format("(@ {} {})", expr({k}, d), expr({k}, d));
        return fmt::format("(@ {} {})", expr({s[0], s[1], k}, d), expr({s[0], k, s[2]}, d));
      }
      case 24:
        return rank == 2 ? fmt::format("(einsum \"ij,kj,j->ik\" {} {} {})", expr({s[0], 2}, d), expr({s[1], 2}, d),
                                       expr({2}, d - 1))
                         : "";
      case 25:
        return rank ? fmt::format("({} {} :axis {})", rng_.pick({"softmax", "log-softmax", "cumsum", "cumprod"}),
                                  expr(s, d), axis)
                    : "";
      case 26:
        return rank && s.back() > 1
                   ? fmt::format("({} {} {{:gamma {} :beta {}}} -1)", rng_.pick({"layer-norm", "rms-norm"}), expr(s, d),
                                 leaf({s.back()}), leaf({s.back()}))
                   : "";
      case 27: {
        std::string t = fresh("t");
        Shape inner = rng_.chance(0.5) ? s : Shape{3};
        std::string value = expr(inner, d), body = bound(t.c_str(), inner, s, d);
        return rng_.chance(0.5) ? fmt::format("(let [{} {}] {})", t, value, body)
                                : fmt::format("((fn [{}] {}) {})", t, body, value);
      }
      case 28: {
        if (!rank) return "";
        std::string r = fresh("r");
        Shape inner = rng_.chance(0.5) ? Shape(s.begin() + 1, s.end()) : Shape{2};
        Shape outer = inner;
        outer.insert(outer.begin(), s[0]);
        std::string xs = expr(outer, d);
        return fmt::format("((vmap (fn [{}] {})) {})", r, bound(r.c_str(), inner, Shape(s.begin() + 1, s.end()), d),
                           xs);
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
      case 33: return rank ? fmt::format("(sort (+ {} {}) :axis {})", expr(s, d), ramp(s), axis) : "";
      case 34:
        return rank < 3 ? fmt::format("({} (+ {} {}) :axis {})", rng_.pick({"max", "min"}), expr(inserted(0, 3), d),
                                      ramp(inserted(0, 3)), 0)
                        : "";
      case 35:
        return fmt::format("(* {} ({} {}))", expr(s, d), rng_.pick({"floor", "ceil", "round", "sign"}),
                           expr(broadcastable(s), d - 1));
      case 36:
        return fmt::format("(+ {} ({} {} {}))", expr(s, d), rng_.pick({"mod", "//"}), expr(s, d - 1),
                           rng_.pick({"0.7", "1.3", "2"}));
      case 37:
        return fmt::format("(where ({} {} (+ {} {})) {} {})", rng_.pick({"<", "<=", ">=", "==", "!="}), expr(s, d - 1),
                           expr(broadcastable(s), 0), offset(), expr(s, d), expr(s, d - 1));
      case 38: return fmt::format("(where ({} {}) 0.5 {})", rng_.pick({"isnan", "isinf"}), expr(s, d - 1), expr(s, d));
      case 39:
        return rank < 3
                   ? fmt::format("(+ {} (float ({} (+ {} {}) :axis 0)))", expr(s, d), rng_.pick({"argmax", "argmin"}),
                                 expr(inserted(0, 3), d - 1), ramp(inserted(0, 3)))
                   : "";
      case 40:
        return fmt::format("(* {} (+ 0.5 ({} {} {})))", expr(s, d),
                           rng_.pick({"random-uniform", "random-normal", "random-normal"}), rng_.below(1000),
                           shape_text(s));
      case 56:
        return fmt::format("(* {} (random-truncated-normal {} -1.5 2.0 {}))", expr(s, d), rng_.below(1000),
                           shape_text(s));
      case 57: return rank == 2 ? fmt::format("({} {})", rng_.pick({"tril", "triu"}), expr(s, d)) : "";
      case 58:
        return fmt::format("(* {} (random-uniform (random-key (int {})) {}))", expr(s, d), expr({}, d - 1),
                           shape_text(s));
      case 41:
        return fmt::format("(+ {} (float ({} (random-randint {} {} 0 100) {})))", expr(s, d), "ash", rng_.below(1000),
                           shape_text(s), rng_.pick({"1", "2", "-1", "-3"}));
      case 42:
        return fmt::format("(where ({} (> {} 0.1) (< {} {})) {} {})",
                           rng_.pick({"logical-and", "logical-or", "logical-xor"}), expr(s, d - 1), expr(s, 0),
                           literal({}), expr(s, d), leaf(s));
      case 43:
        return fmt::format("(where (logical-not (> {} {})) {} {})", expr(s, d - 1), literal({}), leaf(s), expr(s, d));
      case 44: return fmt::format("(atan2 {} (+ 2.5 (sin {})))", expr(s, d), expr(broadcastable(s), d - 1));
      case 55: return fmt::format("(+ {} (stop-gradient {}))", expr(s, d), literal(broadcastable(s)));
      case 45: return fmt::format("(tan (* 0.3 (sin {})))", expr(s, d));
      case 46: {
        if (!rank) return "";
        int k = s[static_cast<size_t>(axis)];
        return fmt::format("(take-along-axis {} (broadcast-to (reshape (cast [{}] :i32) {}) {}) :axis {})",
                           expr(with(axis, 3), d), indices(k, 3), shape_text(axis_shape(s, axis)), shape_text(s), axis);
      }
      case 47:
        return rank ? fmt::format("(index-update {} {} {})", wide(s, d), rng_.below(s[0]),
                                  expr(Shape(s.begin() + 1, s.end()), d - 1))
                    : "";
      case 48:
        return rank ? fmt::format("({} {} {} {})", rng_.pick({"at-set", "at-add"}), wide(s, d),
                                  expr(Shape(s.begin() + 1, s.end()), d - 1), rng_.below(s[0]))
                    : "";
      case 49: return rank == 1 ? fmt::format("(dynamic-slice {} {} {})", expr({s[0] + 2}, d), 1, s[0]) : "";
      case 50:
        return rank == 1 ? fmt::format("(scatter-add {} [{}] {})", wide(s, d), indices(3, s[0]), expr({3}, d - 1)) : "";
      case 51: {
        if (rank != 2) return "";
        return fmt::format("(reshape (conv2d (reshape {} [1 1 {} {}]) (reshape {} [1 1 2 2])) {})",
                           expr({s[0] + 1, s[1] + 1}, d), s[0] + 1, s[1] + 1, expr({2, 2}, d - 1), shape_text(s));
      }
      case 52:
        return rank == 2 ? fmt::format("(reshape (avg-pool (reshape {} [1 1 {} {}]) :size 2) {})",
                                       expr({2 * s[0], 2 * s[1]}, d), 2 * s[0], 2 * s[1], shape_text(s))
                         : "";
      case 53: {
        std::string t = fresh("t");
        std::string value = expr(s, d), body = closed(t, s, s, d - 1);
        // A custom derivative that equals the true one, so that it agrees with differences.
        return fmt::format(
            "((custom-vjp (fn [{0}] {1}) (fn [{0}] (list {1} {0})) (fn [{0} dy] (list (first ((second (vjp (fn [{0}] "
            "{1}) {0})) dy))))) {2})",
            t, body, value);
      }
      case 54: {
        // The gradient of an inner function, so that rules are differentiated again.
        if (d < 1) return "";
        std::string t = fresh("t"), body = closed(t, s, {}, 1);
        return fmt::format("((grad (fn [{}] (sum {}))) {})", t, body, expr(s, d - 1));
      }
      case 59: {
        if (rank != 2) return "";
        int depth = 1 + rng_.below(3), first = rng_.below(s[0] + 1), second = rng_.below(s[0] - first + 1);
        return fmt::format("(grouped-matmul {} {} [{} {}])", expr({s[0], depth}, d), expr({2, depth, s[1]}, d - 1),
                           first, second);
      }
      case 60:
      case 61: {
        if (rank != 2) return "";
        int columns = s[0] + rng_.below(3), depth = 1 + rng_.below(3);
        return fmt::format("(attention {} {} {}{})", expr({s[0], depth}, d), expr({columns, depth}, d - 1),
                           expr({columns, s[1]}, d), rng_.pick({"", " :causal true", " :window 2", " :scale 0.7"}));
      }
      case 62: {
        std::string t = fresh("t");
        return fmt::format("((checkpoint (fn [{}] {})) {})", t, bound(t.c_str(), s, s, d), expr(s, d - 1));
      }
      case 63: {
        // Long enough to stay a loop in compiled code; the sine keeps the carry small.
        std::string c = fresh("c"), x = fresh("x"), init = wide(s, d - 1);
        scope.emplace_back(c, s);
        std::string body = bound(x.c_str(), {}, s, d - 1);
        scope.pop_back();
        std::string loop = fmt::format(
            "(scan (fn [{0} {1}] (list (+ (* 0.5 {0}) (sin {2})) (* {1} {0}))) {3} (cast (* 0.1 (range {4})) (dtype "
            "x)) :stack)",
            c, x, body, init, 17 + rng_.below(3));
        return rng_.chance(0.5) ? fmt::format("(first {})", loop) : fmt::format("(mean (second {}) :axis 0)", loop);
      }
      case 64: {
        // It grows in every iteration, so the loop ends.
        std::string t = fresh("t");
        return fmt::format("(while (< (sum {0}) {1}) [{0} (+ 1 (** {2} 2))] (* {0} (+ 1.5 (** (sin {3}) 2))))", t,
                           10 + rng_.below(40), wide(s, d - 1), bound(t.c_str(), s, s, d - 1));
      }
      case 65: {
        std::string k = fresh("k");
        return fmt::format("(get (map (fn [{0}] (* (cos {0}) {1})) (cast (* 0.1 (range 18)) (dtype x))) {2})", k,
                           bound(k.c_str(), {}, s, d - 1), rng_.below(18));
      }
      case 66: {
        if (rank != 2) return "";
        int rows = 2 + 2 * rng_.below(2);
        return fmt::format("(@ {} (quantize {} {} {{:group {}}}))", expr({s[0], rows}, d), literal({rows, s[1]}),
                           rng_.pick({":q8", ":q4"}), rng_.chance(0.5) ? 2 : rows);
      }
      // Eigenvalues and singular values well apart, so that vectors have derivatives; their squares, so that signs do
      // not matter.
      case 67: {
        if (rank != 1) return "";
        std::string a = fmt::format("(+ (sin {}) {})", expr({s[0], s[0]}, d), spread(s[0], s[0]));
        return rng_.chance(0.5) ? fmt::format("(first (eigh {}))", a)
                                : fmt::format("(get (** (second (eigh {})) 2) 0)", a);
      }
      case 68: {
        if (rank != 1) return "";
        int columns = s[0] + rng_.below(2);
        std::string a = fmt::format("(+ (sin {}) {})", expr({s[0], columns}, d), spread(s[0], columns));
        return rng_.chance(0.5) ? fmt::format("(second (svd {}))", a)
                                : fmt::format("(get (** (first (svd {})) 2) 0)", a);
      }
      case 69: {
        if (rank != 1 && rank != 2) return "";
        std::string a = fmt::format("(+ (sin {}) {})", expr({s[0], s[0]}, d), spread(s[0], s[0]));
        return fmt::format("(solve {} {})", a, expr(s, d));
      }
      case 70: {
        if (rank != 2 || s[0] != s[1]) return "";
        std::string a = fmt::format("(+ (sin {}) {})", expr(s, d), spread(s[0], s[0]));
        return rng_.chance(0.5) ? fmt::format("(cholesky {})", a) : fmt::format("(* (det (* 0.1 {})) (inv {}))", a, a);
      }
      default:
        return rank > 1 && rank < 3 ? fmt::format("(stack (map (fn [k] (* (+ 1 k) {})) (range {})))",
                                                  expr(Shape(s.begin() + 1, s.end()), d), s[0])
                                    : "";
    }
  }

  std::string pad_widths(const Shape& s, int axis) {
    std::string out = "[";
    for (int i = 0; i < static_cast<int>(s.size()); ++i)
      out += i == axis ? fmt::format("[0 {}]", s[static_cast<size_t>(i)] - 1) : "[0 0]";
    return out + "]";
  }

  // Ones everywhere but on one axis.
  static Shape axis_shape(const Shape& s, int axis) {
    Shape t(s.size(), 1);
    t[static_cast<size_t>(axis)] = s[static_cast<size_t>(axis)];
    return t;
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
