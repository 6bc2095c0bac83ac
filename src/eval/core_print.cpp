#include <fmt/format.h>

#include "eval/core.h"
#include "value/print.h"

namespace sheaf::eval {
namespace {

std::string_view kind_name(ExprKind k) {
  constexpr std::string_view names[] = {
      "const", "local",  "capture",     "self",         "global", "if",     "do",         "bind", "destructure",
      "fn",    "call",   "call-global", "call-builtin", "op",     "vector", "dict",       "and",  "or",
      "while", "repeat", "loop",        "recur",        "def",    "try",    "param-field"};
  return names[static_cast<size_t>(k)];
}

std::string_view op_name(InlineOp op) {
  constexpr std::string_view names[] = {"+", "-", "*", "/", "//", "mod", "<", "<=", ">", ">=", "not", "neg"};
  return names[static_cast<size_t>(op)];
}

std::string slots_text(const Expr& e) {
  std::string out;
  for (int s : e.slots)
    out += fmt::format(" %{}", s);
  if (e.rest_slot >= 0) out += fmt::format(" & %{}", e.rest_slot);
  return out;
}

std::string constant_text(const Value& v) {
  std::string text = v.is_string() ? short_text(v) : render(v);
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

// The text after the opening parenthesis, before the items.
std::string head(const Expr& e) {
  std::string out(kind_name(e.kind));
  switch (e.kind) {
    case ExprKind::Global:
    case ExprKind::CallGlobal:
    case ExprKind::Def: return out + " " + e.cell->name.str();
    case ExprKind::CallBuiltin: return out + " " + std::string(e.builtin->name);
    case ExprKind::Op: return std::string(op_name(e.op));
    case ExprKind::Bind:
    case ExprKind::While:
    case ExprKind::Try: return out + fmt::format(" %{}", e.slot);
    case ExprKind::Repeat: return out + fmt::format(" %{} %{}", e.slot, e.slot2);
    case ExprKind::Destructure:
    case ExprKind::Loop: return out + slots_text(e);
    case ExprKind::Vector: return e.flag ? out + " stacked" : out;
    case ExprKind::ParamField:
      return out + " " + constant_text(e.value) + (e.cell ? " else " + e.cell->name.str() : "");
    default: return out;
  }
}

void print(const Expr& e, const std::string& indent, std::string& out) {
  out += indent;
  switch (e.kind) {
    case ExprKind::Const: out += constant_text(e.value); return;
    case ExprKind::Local: out += fmt::format("%{}{}", e.slot, e.last ? "!" : ""); return;
    case ExprKind::Capture: out += fmt::format("^{}", e.slot); return;
    case ExprKind::Self: out += "self"; return;
    case ExprKind::Global: out += e.cell->name.str(); return;
    default: break;
  }
  out += "(" + head(e);
  if (e.kind == ExprKind::Fn) {
    for (const Param& p : e.proto->params)
      out += fmt::format(" {}:%{}", p.name.str(), p.slot);
    if (e.proto->rest_slot >= 0) out += fmt::format(" & %{}", e.proto->rest_slot);
    if (!e.captures.empty()) out += " captures";
    for (const ExprPtr& c : e.captures)
      print(*c, " ", out);
    if (e.proto->body) {
      out += "\n";
      print(*e.proto->body, indent + "  ", out);
    }
  }
  for (const ExprPtr& item : e.items) {
    out += "\n";
    print(*item, indent + "  ", out);
  }
  out += ")";
}

}  // namespace

std::string print_core(const Expr& e) {
  std::string out;
  print(e, "", out);
  return out + "\n";
}

}  // namespace sheaf::eval
