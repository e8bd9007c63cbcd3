package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/vigildb/vigil/placement"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

const (
	figureWidth  = 16 * vg.Centimeter
	figureHeight = 9 * vg.Centimeter
	figureUnits  = 100
	// ringObjects are sampled for the peer: the noise of a share is 1 %.
	ringObjects = 1 << 20
)

// draw writes the figures of docs/placement.md. They depend on the seed alone.
func draw(dir string, png bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	shares, err := drawShares()
	if err != nil {
		return err
	}
	moves, err := drawMoves()
	if err != nil {
		return err
	}
	kinds := []string{"svg"}
	if png {
		kinds = append(kinds, "png")
	}
	for _, kind := range kinds {
		for name, p := range map[string]*plot.Plot{"placement-share": shares, "placement-moves": moves} {
			if err := p.Save(figureWidth, figureHeight, filepath.Join(dir, name+"."+kind)); err != nil {
				return fmt.Errorf("figure %s: %w", name, err)
			}
		}
	}
	return nil
}

// legend puts the legend in the upper left corner.
func legend(p *plot.Plot) {
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding, p.Legend.XOffs = vg.Points(2), vg.Points(4)
	p.Title.Padding = vg.Millimeter * 3
}

// every puts a labelled tick at each multiple of step.
func every(step float64) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) []plot.Tick {
		var out []plot.Tick
		for i := math.Ceil(low / step); i*step <= high; i++ {
			out = append(out, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'f', -1, 64)})
		}
		return out
	})
}

// drawShares draws share over capacity, by unit, of several strategies.
func drawShares() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%d units, capacities 1 to 100", figureUnits)
	p.X.Label.Text, p.Y.Label.Text = "units, from the least loaded to the most", "share / capacity"
	p.Y.Min, p.Y.Max = 0.5, 1.5
	legend(p)
	p.X.Tick.Marker, p.Y.Tick.Marker = every(20), every(0.25)
	p.Add(plotter.NewGrid())
	weights := mixedWeights(figureUnits)
	for i, name := range []string{"sieve-abs", "maglev", "slots", "nearest", "share", "hashring"} {
		loads, err := loadsOf(name, weights)
		if err != nil {
			return nil, err
		}
		slices.Sort(loads)
		line := make(plotter.XYs, len(loads))
		for k, y := range loads {
			line[k] = plotter.XY{X: float64(k + 1), Y: y}
		}
		l, err := plotter.NewLine(line)
		if err != nil {
			return nil, err
		}
		l.Color, l.Width = plotutil.Color(i), vg.Points(1.5)
		switch name {
		case "sieve-abs":
			l.Width = vg.Points(3)
		case "hashring":
			l.Color, l.Dashes = color.Gray{Y: 60}, plotutil.Dashes(1)
		}
		p.Add(l)
		label := map[string]string{"sieve-abs": "sieve-abs (also sieve, rendezvous)",
			"nearest": "nearest, 160 points", "hashring": "serialx/hashring, 160 points"}[name]
		if label == "" {
			label = name
		}
		p.Legend.Add(label, l)
	}
	return p, nil
}

// loadsOf returns share over capacity of each unit, exact but for the peer.
func loadsOf(name string, weights []int) ([]float64, error) {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	var shares []float64
	if name == "hashring" {
		t, err := hashringTable(weights)
		if err != nil {
			return nil, err
		}
		shares = make([]float64, len(weights))
		for _, u := range t.places(ringObjects) {
			shares[u] += 1.0 / ringObjects
		}
	} else {
		s, err := strategyOf(name, weights)
		if err != nil {
			return nil, err
		}
		if shares, err = sharesOf(s, name, len(weights)); err != nil {
			return nil, err
		}
	}
	for i, w := range weights {
		shares[i] *= float64(sum) / float64(w)
	}
	return shares, nil
}

func strategyOf(name string, weights []int) (placement.Strategy, error) {
	spec, err := placement.Lookup(name)
	if err != nil {
		return nil, err
	}
	t, err := buildOurs(spec, weights)
	if err != nil {
		return nil, err
	}
	return t.strategy, nil
}

// drawMoves draws moved over optimum of a join, a leave and a change, by
// strategy. static and twochoice, which move nearly all, would hide the others.
func drawMoves() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%d units, capacities 1 to 100 (* equal)", figureUnits)
	p.Y.Label.Text = "moved / optimum"
	legend(p)
	p.Y.Tick.Marker = every(0.5)
	var labels []string
	groups := make([]plotter.Values, 3)
	for _, name := range []string{"sieve-abs", "rendezvous", "slots", "nearest", "cutpaste", "jump",
		"maglev", "share", "sieve"} {
		spec, err := placement.Lookup(name)
		if err != nil {
			return nil, err
		}
		ratios, err := ratiosOf(spec)
		if err != nil {
			return nil, err
		}
		for k, r := range ratios {
			groups[k] = append(groups[k], r)
		}
		if !spec.Weighted {
			name += "*"
		}
		labels = append(labels, name)
	}
	width := vg.Points(11)
	for k, label := range []string{"a unit joins", "a unit leaves", "a capacity doubles"} {
		bars, err := plotter.NewBarChart(groups[k], width)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width, bars.Offset = plotutil.Color(k), 0, width*vg.Length(k-1)
		p.Add(bars)
		p.Legend.Add(label, bars)
	}
	one := plotter.NewFunction(func(float64) float64 { return 1 })
	one.Color, one.Dashes = color.Gray{Y: 60}, plotutil.Dashes(1)
	p.Add(one)
	p.NominalX(labels...)
	p.Y.Min, p.Y.Max = 0, 2.6
	return p, nil
}

// ratiosOf returns moved over optimum of joins, leaves and doubled capacities,
// the last 0 where all capacities are equal.
func ratiosOf(spec placement.Spec) ([3]float64, error) {
	weights := mixedWeights(figureUnits)
	if !spec.Weighted {
		weights = equalWeights(figureUnits)
	}
	s, err := strategyOf(spec.Name, weights)
	if err != nil {
		return [3]float64{}, err
	}
	joins, leaves := changesOf(weights)
	var out [3]float64
	if out[0], err = ratio(s, weights, joins); err != nil {
		return out, err
	}
	if out[1], err = ratio(s, weights, leaves); err != nil || !spec.Weighted {
		return out, err
	}
	var doubled []placement.Change
	for _, c := range leaves {
		doubled = append(doubled, placement.Change{Unit: c.Unit, Capacity: 2 * capacityOf(weights[c.Unit])})
	}
	out[2], err = ratio(s, weights, doubled)
	return out, err
}
