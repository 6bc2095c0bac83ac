#include "syntax/form.h"

#include <cmath>

namespace sheaf::syntax {
namespace {

std::shared_ptr<Form> make(FormKind kind, Span span) {
  auto form = std::make_shared<Form>();
  form->kind = kind;
  form->span = span;
  return form;
}

// Unlike ==, distinguishes -0.0 from 0.0 and treats NaN as equal to itself: compares the meaning of the texts.
bool same_float(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

}  // namespace

FormPtr make_symbol(std::string_view name, Span span) {
  auto form = make(FormKind::Symbol, span);
  form->name = Name(name);
  return form;
}

FormPtr make_keyword(std::string_view name, Span span) {
  auto form = make(FormKind::Keyword, span);
  form->name = Name(name);
  return form;
}

FormPtr make_int(int64_t v, Span span) {
  auto form = make(FormKind::Int, span);
  form->int_value = v;
  return form;
}

FormPtr make_float(double v, Span span) {
  auto form = make(FormKind::Float, span);
  form->float_value = v;
  return form;
}

FormPtr make_string(std::string v, Span span, bool raw) {
  auto form = make(FormKind::String, span);
  form->text = std::move(v);
  form->raw = raw;
  return form;
}

FormPtr make_bool(bool v, Span span) {
  auto form = make(FormKind::Bool, span);
  form->int_value = v;
  return form;
}

FormPtr make_nil(Span span) { return make(FormKind::Nil, span); }

FormPtr make_seq(FormKind kind, std::vector<FormPtr> items, Span span) {
  auto form = make(kind, span);
  form->items = std::move(items);
  return form;
}

bool equal(const Form& a, const Form& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case FormKind::Symbol:
    case FormKind::Keyword: return a.name == b.name;
    case FormKind::Int:
    case FormKind::Bool: return a.int_value == b.int_value;
    case FormKind::Float: return same_float(a.float_value, b.float_value);
    case FormKind::String: return a.text == b.text;
    case FormKind::Nil: return true;
    default: break;
  }
  if (a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!equal(*a.items[i], *b.items[i])) return false;
  return true;
}

}  // namespace sheaf::syntax
