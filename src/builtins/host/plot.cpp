// (plot data [options]), (plot-grid plots [options]) and (log-metrics path step values).
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "builtins/core/numeric.h"
#include "builtins/core/text.h"
#include "builtins/host/families.h"
#include "builtins/host/heat_map.h"
#include "builtins/host/output.h"
#include "builtins/host/plot_drawing.h"
#include "builtins/host/plot_text.h"
#include "builtins/host/series.h"
#include "formats/files.h"
#include "formats/metrics.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

std::string shown_name(const std::string& name) { return name.empty() ? "the curve" : ":" + name; }

// A sequence of numbers against `x`, or against 0, 1, 2 …; a dict {:x xs :y ys}; for dots also a matrix of x and y.
Curve curve_of(std::string name, const Value& v, const Value* x, PlotKind kind) {
  Curve c{std::move(name), {}, {}};
  Value own_x;
  if (v.is_dict()) {
    const Value* y = v.as_dict().find(Name("y"));
    const Value* own = v.as_dict().find(Name("x"));
    if (!y || !own || v.as_dict().size() != 2)
      throw runtime_error("plot: " + shown_name(c.name) + " must be a row of numbers or {:x … :y …}, got " +
                          short_text(v));
    own_x = *own;
    x = &own_x;
    c.y = series_of(*y, "plot");
  } else if (Value now = trace::concrete_tree(v);
             kind == PlotKind::Scatter && now.is_tensor() && now.as_tensor().rank() == 2) {
    const Tensor& t = now.as_tensor();
    if (t.sizes[1] != 2) throw runtime_error("plot: points are [n, 2], got " + shape_text(t.sizes));
    for (int64_t i = 0; i < t.num_elems(); ++i)
      (i % 2 == 0 ? c.x : c.y).push_back(element_as_double(t, i));
    return c;
  } else {
    c.y = series_of(v, "plot");
  }
  if (x)
    c.x = series_of(*x, "plot");
  else
    for (size_t i = 0; i < c.y.size(); ++i)
      c.x.push_back(static_cast<double>(i));
  if (c.x.size() != c.y.size())
    throw runtime_error("plot: " + shown_name(c.name) + " has " + std::to_string(c.y.size()) + " points, :x has " +
                        std::to_string(c.x.size()));
  return c;
}

Grid grid_of(const Value& v) {
  Grid g;
  Value now = trace::concrete_tree(v);
  if (now.is_tensor()) {
    const Tensor& t = now.as_tensor();
    if (t.rank() != 2) throw runtime_error("plot: a heat-map is of a matrix, got " + shape_text(t.sizes));
    g.rows = static_cast<size_t>(t.sizes[0]);
    g.columns = static_cast<size_t>(t.sizes[1]);
    g.values = series_of(now, "plot");
    return g;
  }
  if (!now.is_seq()) throw runtime_error("plot: a heat-map is of a matrix, got " + short_text(v));
  for (const Value& row : now.items()) {
    std::vector<double> values = series_of(row, "plot");
    if (g.rows++ > 0 && values.size() != g.columns)
      throw runtime_error(fmt::format("plot: row {} of the heat-map has {} numbers, the first {}", g.rows - 1,
                                      values.size(), g.columns));
    g.columns = values.size();
    g.values.insert(g.values.end(), values.begin(), values.end());
  }
  return g;
}

std::string picture_path(const Value& v) {
  std::string path = text_of(v);
  if (!path.ends_with(".svg") && !path.ends_with(".png"))
    throw runtime_error("plot: :file must end in .svg or .png, got " + short_text(v));
  return path;
}

PlotKind kind_of(const Value& v) {
  std::string name = is_key(v) ? key_name(v).str() : "";
  if (name == "line") return PlotKind::Line;
  if (name == "scatter") return PlotKind::Scatter;
  if (name == "bar") return PlotKind::Bar;
  if (name == "heat-map") return PlotKind::HeatMap;
  throw runtime_error("plot: :kind must be :line, :scatter, :bar or :heat-map, got " + short_text(v));
}

std::optional<AxisRange> range_of(const Value& v, const std::string& name) {
  std::vector<double> ends = series_of(v, "plot");
  if (ends.size() != 2 || !std::isfinite(ends[0]) || !std::isfinite(ends[1]) || ends[0] >= ends[1])
    throw runtime_error("plot: :" + name + " must be a lower and an upper number, got " + short_text(v));
  return AxisRange{ends[0], ends[1]};
}

std::vector<std::string> names_of(const Value& v, const std::string& name) {
  if (!v.is_seq()) throw runtime_error("plot: :" + name + " must be a list of names, got " + short_text(v));
  std::vector<std::string> out;
  for (const Value& item : v.items())
    out.push_back(text_of(item));
  return out;
}

// One plot as described by the program.
struct Figure {
  PlotOptions options;
  std::vector<Curve> curves;
  Grid grid;  // of a heat-map
  std::optional<std::string> file;
};

PlotOptions options_here() {
  PlotOptions o;
  o.width = static_cast<int>(std::clamp(terminal_width(), 40, 200));
  o.colour = is_terminal_out();
  return o;
}

Figure figure_of(const Value& data, const Value& given) {
  Figure figure{options_here(), {}, {}, {}};
  PlotOptions& o = figure.options;
  Value x;
  std::vector<std::string> right;
  if (!given.is_dict() && !given.is_nil())
    throw runtime_error("plot: expected a dict of options, got " + short_text(given));
  if (given.is_dict()) {
    for (const DictEntry& e : given.as_dict().entries()) {
      const std::string& name = e.key.str();
      if (name == "title")
        o.title = text_of(e.value);
      else if (name == "kind")
        o.kind = kind_of(e.value);
      else if (name == "x-label")
        o.x.label = text_of(e.value);
      else if (name == "y-label")
        o.y.label = text_of(e.value);
      else if (name == "right-label")
        o.right.label = text_of(e.value);
      else if (name == "file")
        figure.file = picture_path(e.value);
      else if (name == "width")
        o.width = static_cast<int>(std::clamp<int64_t>(to_index(e.value, "plot"), 20, 1000));
      else if (name == "height")
        o.height = static_cast<int>(std::clamp<int64_t>(to_index(e.value, "plot"), 3, 200));
      else if (name == "log")
        o.y.log = o.colours.log = is_true(e.value);
      else if (name == "x-log")
        o.x.log = is_true(e.value);
      else if (name == "right-log")
        o.right.log = is_true(e.value);
      else if (name == "x-range")
        o.x.range = range_of(e.value, name);
      else if (name == "y-range")
        o.y.range = range_of(e.value, name);
      else if (name == "right-range")
        o.right.range = range_of(e.value, name);
      else if (name == "range")
        o.colours.range = range_of(e.value, name);
      else if (name == "x-names")
        o.x_names = names_of(e.value, name);
      else if (name == "y-names")
        o.y_names = names_of(e.value, name);
      else if (name == "right")
        right = names_of(e.value, name);
      else if (name == "numbers")
        o.numbers = is_true(e.value);
      else if (name == "x")
        x = e.value;
      else
        throw runtime_error("plot: unknown option :" + name +
                            ". Known options: :file :height :kind :log :numbers :range :right :right-label :right-log "
                            ":right-range :title :width :x :x-label :x-log :x-names :x-range :y-label :y-names "
                            ":y-range");
    }
  }
  for (auto [axis, name] : {std::pair(&o.x, "x-range"), std::pair(&o.y, "y-range"), std::pair(&o.right, "right-range"),
                            std::pair(&o.colours, "range")})
    if (axis->log && axis->range && axis->range->lo <= 0)
      throw runtime_error(fmt::format("plot: :{} of a logarithmic axis must be above 0", name));
  if (o.kind == PlotKind::HeatMap) {
    figure.grid = grid_of(data);
    return figure;
  }
  const Value* xs = x.is_nil() ? nullptr : &x;
  const DictObj* dict = data.is_dict() ? &data.as_dict() : nullptr;
  if (dict)
    for (const DictEntry& e : dict->entries())
      figure.curves.push_back(curve_of(e.key.str(), e.value, xs, o.kind));
  else
    figure.curves.push_back(curve_of("", data, xs, o.kind));
  for (const std::string& name : right) {
    auto it = std::find_if(figure.curves.begin(), figure.curves.end(), [&](const Curve& c) { return c.name == name; });
    if (it == figure.curves.end())
      throw runtime_error("plot: :right names the curve '" + name + "', which is not there");
    it->on_right = true;
  }
  return figure;
}

std::string text_of_figure(const Figure& f) {
  return f.options.kind == PlotKind::HeatMap ? heat_map_text(f.grid, f.options) : plot_text(f.curves, f.options);
}

Drawing drawing_of(const Figure& f) {
  return f.options.kind == PlotKind::HeatMap ? heat_map_drawing(f.grid, f.options) : plot_drawing(f.curves, f.options);
}

void write_picture(const std::string& file, const Drawing& d) {
  formats::write_file(file, file.ends_with(".png") ? png_of(d) : svg_of(d), "plot");
}

Value plot(Call& c) {
  Figure figure = figure_of(c[0], c.size() > 1 ? c[1] : Value());
  if (figure.file)
    write_picture(*figure.file, drawing_of(figure));
  else
    write_out(text_of_figure(figure));
  return {};
}

Value plot_grid(Call& c) {
  if (!c[0].is_seq() || c[0].items().empty())
    throw runtime_error("plot-grid: expected a list of plots, got " + short_text(c[0]))
        .hint("each is a list of data and options: (plot-grid (list (list data {:title \"a\"}) (list other {})))");
  std::vector<Figure> figures;
  for (const Value& v : c[0].items()) {
    if (!v.is_seq() || v.items().empty() || v.items().size() > 2)
      throw runtime_error("plot-grid: a plot must be a list of data and options, got " + short_text(v));
    figures.push_back(figure_of(v.items()[0], v.items().size() > 1 ? v.items()[1] : Value()));
    if (figures.back().file) throw runtime_error("plot-grid: :file is an option of the grid, not of a plot in it");
  }
  std::string title;
  std::optional<std::string> file;
  int64_t columns = figures.size() > 1 ? 2 : 1;
  Value given = c.size() > 1 ? c[1] : Value();
  if (!given.is_dict() && !given.is_nil())
    throw runtime_error("plot-grid: expected a dict of options, got " + short_text(given));
  if (given.is_dict()) {
    for (const DictEntry& e : given.as_dict().entries()) {
      const std::string& name = e.key.str();
      if (name == "title")
        title = text_of(e.value);
      else if (name == "file")
        file = picture_path(e.value);
      else if (name == "columns")
        columns = std::clamp<int64_t>(to_index(e.value, "plot-grid"), 1, static_cast<int64_t>(figures.size()));
      else
        throw runtime_error("plot-grid: unknown option :" + name + ". Known options: :columns :file :title");
    }
  }
  if (file) {
    std::vector<Drawing> drawings;
    for (Figure& f : figures) {
      f.options.picture_width = 540;
      f.options.picture_height = 360;
      drawings.push_back(drawing_of(f));
    }
    write_picture(*file, drawing_of_all(drawings, static_cast<int>(columns), title));
    return {};
  }
  if (!title.empty()) write_out(title + "\n");
  for (const Figure& f : figures)
    write_out(text_of_figure(f));
  return {};
}

Value log_metrics(Call& c) {
  if (!c[0].is_string()) throw runtime_error("log-metrics: path must be a string, got " + std::string(type_name(c[0])));
  Value values = trace::concrete_tree(c[2]);
  if (!values.is_dict()) throw runtime_error("log-metrics: expected a dict of numbers, got " + short_text(values));
  std::vector<formats::Metric> metrics;
  for (const DictEntry& e : values.as_dict().entries())
    metrics.push_back({e.key.str(), to_double(e.value, "log-metrics")});
  formats::append_metrics(c[0].as_string(), to_index(c[1], "log-metrics"), metrics);
  return {};
}

// (%cut-log path step): for a training run that resumes at `step`, removes later entries of a log and returns a
// description; nil: nothing removed. Without a step a new run starts, and the existing log is renamed.
Value cut_log(Call& c) {
  const std::string& path = c[0].as_string();
  std::string done =
      c[1].is_nil() ? formats::begin_metrics(path) : formats::cut_metrics(path, to_index(c[1], "training-loop"));
  return done.empty() ? Value() : Value::string(std::move(done));
}

const BuiltinDef kBuiltins[] = {
    {"%cut-log", "", "", "", {}, 2, 2, cut_log, {}, Effect::Output},
    {"plot",
     "Looking",
     "(plot data [options])",
     "Draws curves: a dict of rows of numbers (lists or tensors) by name, or one row. A row may bring its own "
     "positions: "
     "{:x xs :y ys}. Without :file as text for a terminal, else as the picture that its name asks for, .svg or .png. "
     "Options, in a dict: :kind, :line (the default), :scatter (dots; also points [n, 2]), :bar (side by side) or "
     ":heat-map (a matrix as colours); :title, :file, :x (positions of all rows, default 0 1 2 …), :width and :height "
     "in characters; of the axes :x-label :y-label, :x-range :y-range [lo hi], :log (y or the colours are "
     "logarithmic), "
     ":x-log, :x-names :y-names (lists of names instead of numbers). :right is a list of curves against an axis of "
     "their own at the right, with :right-label, :right-range and :right-log. Of a heat-map :range [lo hi] of the "
     "colours and :numbers, which writes the values into the cells.",
     {{"(plot [0 1 2 3] {:width 24 :height 3})",
       "        3 ┤         ⣠⠤⠒⠉\n      1.5 ┤    ⣀⡠⠔⠊⠉\n        0 ┤⣀⠤⠒⠋\n          └─────────────\n           0        "
       "   3"},
      {"(do (plot {:train [3 2 1] :val [3 3 2]} {:title \"loss\" :file \"loss.png\"}) (shape (io \"load\" "
       "\"loss.png\")))",
       "[ 864. 1440.    3.]"}},
     1,
     2,
     plot,
     {},
     Effect::Output},
    {"plot-grid",
     "Looking",
     "(plot-grid plots [options])",
     "Several plots in one picture, each a list of data and options as plot takes them. Options, in a dict: :file, "
     ":columns (2), :title. Without :file they are text, one after another.",
     {{"(do (plot-grid (list (list [3 2 1] {:title \"loss\"}) (list [[1 0] [0 1]] {:kind :heat-map})) {:file "
       "\"both.png\"}) (shape (io \"load\" \"both.png\")))",
       "[ 720. 2160.    3.]"}},
     1,
     2,
     plot_grid,
     {},
     Effect::Output},
    {"log-metrics",
     "Looking",
     "(log-metrics path step values)",
     "Adds the numbers of a dict to a log: a line of JSON when path ends in .jsonl, else an event file for TensorBoard "
     "in the directory path.",
     {{"(do (log-metrics \"log.jsonl\" 7 {:loss 0.5 :lr 0.1}) (last (io \"load\" \"log.jsonl\")))",
       "{:loss 0.5, :lr 0.1, :step 7}"}},
     3,
     3,
     log_metrics,
     {},
     Effect::Output},
};

}  // namespace

std::span<const BuiltinDef> plot_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
