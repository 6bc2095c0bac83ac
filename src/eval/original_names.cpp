#include "eval/original_names.h"

#include <set>

namespace sheaf::eval {

bool is_original_name(std::string_view name) {
  static const auto* names = new std::set<std::string_view>{
      "+", "-", "*", "/", "//", "mod", "%", "**", "abs", "ash", "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "round", "ceil", "floor",
      "@", "einsum", "=", "==", "!=", "<", ">", "<=", ">=", "not", "and", "or",
      "shape", "ndim", "len", "count", "int", "float", "cast", "zeros", "ones", "eye", "arange", "range", "one-hot", "tril", "tensor",
      "reshape", "transpose", "tr", "swapaxes", "slice", "dynamic-slice", "concat", "tensor-split", "roll", "flip", "index-update", "append-and-roll", "where", "normalize",
      "sum", "mean", "product", "min", "max", "var", "argmax", "argmin", "minimum", "maximum",
      "first", "second", "last", "rest", "nth", "cons", "append", "empty?", "chars", "index-of", "sort", "top_k",
      "map", "filter", "find", "reduce", "scan", "apply", "vmap", "tree-map", "tree-reduce", "tree-map-zeros", "flatten",
      "dict", "get", "get-in", "assoc", "dissoc", "merge", "keys", "vals",
      "print", "println", "str", "str-call", "gensym", "symbol?", "time", "stop-gradient", "io",
      "random-key", "random-split", "random-uniform", "random-normal", "random-randint", "choice", "random-range",
      "relu", "sigmoid", "silu", "gelu", "leaky-relu", "selu", "celu", "softmax", "log-softmax", "linear", "dropout", "layer-norm", "rms-norm",
      "cross-entropy-loss", "mse-loss", "mae-loss", "clamp",
      "xavier-uniform", "xavier-normal", "kaiming-uniform", "kaiming-normal", "lecun-uniform", "lecun-normal",
      "sgd-step", "sgd-momentum-step", "adam-step", "adamw-step", "global-norm", "clip-by-global-norm",
      "linear-warmup", "inverse-sqrt-warmup", "exponential-decay", "step-decay", "cosine-decay"};
  return names->count(name) > 0;
}

}  // namespace sheaf::eval
