package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/scheduler/sim"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	figureWidth  = 16 * vg.Centimeter
	figureHeight = 9 * vg.Centimeter
	// curvePoints is how many points a curve has.
	curvePoints = 80
	// learningRuns is over how many seeds a learning curve is the mean.
	learningRuns = 8
)

// draw writes the figures that go with the model.
func (s *study) draw(ctx context.Context, dir string, rows []row) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if s.model.Rewards() {
		if err := s.save(s.bars(rows, "reward over its bound"), dir, "reward-over-bound"); err != nil {
			return err
		}
		p, err := s.learning(ctx)
		if err != nil {
			return err
		}
		return s.save(p, dir, "learning")
	}
	if err := s.save(s.bars(rows, "cost over LB3"), dir, "cost-over-bound"); err != nil {
		return err
	}
	p, err := s.recovery(ctx)
	if err != nil {
		return err
	}
	return s.save(p, dir, "recovery")
}

func (s *study) save(p *plot.Plot, dir, name string) error {
	for _, kind := range s.kinds {
		if err := p.Save(figureWidth, figureHeight, filepath.Join(dir, name+"."+kind)); err != nil {
			return fmt.Errorf("figure %s: %w", name, err)
		}
	}
	return nil
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = 3 * vg.Millimeter
	p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	return p
}

// wholeTicks labels steps without a fraction.
func wholeTicks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = strconv.FormatFloat(t.Value, 'f', -1, 64)
		}
	}
	return ticks
}

// bars are the ratios of the policies. Ratios beyond tallest are cut off: one bad
// policy would flatten the others.
func (s *study) bars(rows []row, label string) *plot.Plot {
	const tallest = 4
	values, names := make(plotter.Values, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		values[i], names[i] = min(r.Ratio, tallest), r.Policy
	}
	p := newPlot(fmt.Sprintf("%d nodes, c = %d", len(s.nodes), s.trial.Probes), "", label)
	bars, err := plotter.NewBarChart(values, figureWidth/vg.Length(2*len(rows)+2))
	if err != nil {
		panic(err) // only of values that are no numbers
	}
	bars.Color, bars.LineStyle.Width = plotutil.Color(2), 0
	p.Add(bars, s.ratioLabels(rows, values))
	p.NominalX(names...)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = 0.5, draw.XRight, draw.YCenter
	p.Y.Min = 0
	p.Y.Max *= 1.08 // room for the labels
	one := plotter.NewFunction(func(float64) float64 { return 1 })
	one.Dashes = plotutil.Dashes(1)
	p.Add(one)
	return p
}

// ratioLabels writes each ratio above its bar.
func (s *study) ratioLabels(rows []row, values plotter.Values) *plotter.Labels {
	at := make(plotter.XYs, len(rows))
	text := make([]string, len(rows))
	for i, r := range rows {
		at[i] = plotter.XY{X: float64(i), Y: values[i]}
		text[i] = fmt.Sprintf("%.3f", r.Ratio)
	}
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: at, Labels: text})
	if err != nil {
		panic(err)
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].XAlign, labels.TextStyle[i].YAlign = draw.XCenter, draw.YBottom
	}
	return labels
}

// recovery plays index with each estimator while all rates are permuted halfway,
// or as the flags say.
func (s *study) recovery(ctx context.Context) (*plot.Plot, error) {
	index, err := scheduler.PolicyNamed("index")
	if err != nil {
		return nil, err
	}
	p := newPlot("index, all rates permuted halfway", "step", "cost over LB3 of the moment")
	for i, e := range scheduler.Estimators() {
		if e.Name == "fixed" || e.Name == "binary" && !s.trial.Binary {
			continue
		}
		learner := *s
		learner.estimator = &e
		t := learner.trialOf(index)
		t.Warm, t.Steps, t.Points = 0, s.trial.Warm+s.trial.Steps, curvePoints
		if t.Change == (sim.Change{}) {
			t.Change.PermuteAt = t.Steps / 2
		}
		out, err := s.play(ctx, &t)
		if err != nil {
			return nil, err
		}
		line := make(plotter.XYs, len(out.Curve))
		for k, point := range out.Curve {
			line[k].X = float64(point.Step)
			if point.Bound > 0 {
				line[k].Y = point.Value / point.Bound
			}
		}
		if err := addLine(p, i, e.Name, line); err != nil {
			return nil, err
		}
	}
	if s.trial.Change != (sim.Change{}) {
		p.Title.Text = "index, rates that change"
	}
	p.Y.Min, p.Y.Max = 0.9, min(p.Y.Max, 3)
	return p, nil
}

// learning plays each policy from the first step on: what it has earned so far
// over what the bound allows.
func (s *study) learning(ctx context.Context) (*plot.Plot, error) {
	bounds, err := sim.BoundsOf(ctx, s.model, s.truth(), s.trial.Probes)
	if err != nil {
		return nil, err
	}
	bound := bounds.Reward
	p := newPlot(fmt.Sprintf("reward since the first step, mean of %d runs", learningRuns), "step", "share of the bound")
	for i, spec := range s.policies {
		line := make(plotter.XYs, 0, curvePoints)
		for run := range uint64(learningRuns) {
			t := s.trialOf(spec)
			t.Steady, t.Warm, t.Steps, t.Points = false, 0, min(s.trial.Steps, 2000), curvePoints
			t.Seed += run
			out, err := s.play(ctx, &t)
			if err != nil {
				return nil, err
			}
			sum, before := 0.0, int64(0)
			for k, point := range out.Curve {
				if sum += point.Value * float64(point.Step-before); run == 0 {
					line = append(line, plotter.XY{X: float64(point.Step)})
				}
				before = point.Step
				if bound > 0 {
					line[k].Y += sum / float64(point.Step) / bound / learningRuns
				}
			}
		}
		if err := addLine(p, i, spec.Name, line); err != nil {
			return nil, err
		}
	}
	p.Legend.Top = false
	if p.Y.Min < 0.5 {
		p.Y.Min = 0
	}
	return p, nil
}

func addLine(p *plot.Plot, i int, name string, xys plotter.XYs) error {
	line, err := plotter.NewLine(xys)
	if err != nil {
		return fmt.Errorf("curve of %s: %w", name, err)
	}
	line.Color, line.Dashes, line.Width = plotutil.Color(i), plotutil.Dashes(i), vg.Points(1.2)
	p.Add(line)
	p.Legend.Add(name, line)
	p.Legend.Top = true
	return nil
}
