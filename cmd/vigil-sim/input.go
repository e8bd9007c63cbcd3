package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/scheduler"
)

// node is a line of the input.
type node struct {
	name string
	scheduler.Params
}

// setters are the columns of a file of nodes.
var setters = map[string]func(p *scheduler.Params, v float64){
	"rate":    func(p *scheduler.Params, v float64) { p.Rate = v },
	"weight":  func(p *scheduler.Params, v float64) { p.Weight = v },
	"decay":   func(p *scheduler.Params, v float64) { p.Decay = v },
	"arrival": func(p *scheduler.Params, v float64) { p.Arrival = v },
	"cost":    func(p *scheduler.Params, v float64) { p.Cost = v },
	"max-age": func(p *scheduler.Params, v float64) { p.MaxAge = int64(v) },
}

// lines reads a CSV with comments (#) line by line. The first line is a header
// of known columns if its second field is no number; else columns are named as in order.
func lines(r io.Reader, order, known []string, visit func(line int, field map[string]string) error) error {
	in := csv.NewReader(r)
	in.Comment, in.TrimLeadingSpace, in.FieldsPerRecord = '#', true, -1
	columns := []string(nil)
	for {
		record, err := in.Read()
		if err == io.EOF {
			if columns == nil {
				return errors.New("no lines")
			}
			return nil
		}
		if err != nil {
			return err // a csv.ParseError names the line
		}
		line, _ := in.FieldPos(0)
		if columns == nil {
			columns = order
			if isHeader(record) {
				if columns, err = header(record, known); err != nil {
					return fmt.Errorf("line %d: %w", line, err)
				}
				continue
			}
		}
		if len(record) > len(columns) {
			return fmt.Errorf("line %d: %d fields, but there are %d columns: %s", line, len(record), len(columns), strings.Join(columns, ","))
		}
		field := map[string]string{}
		for i, v := range record {
			if field[columns[i]] = v; columns[i] != "name" {
				field[columns[i]] = strings.TrimSpace(v)
			}
		}
		if err := visit(line, field); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func isHeader(record []string) bool {
	if len(record) < 2 {
		return false
	}
	_, err := strconv.ParseFloat(strings.TrimSpace(record[1]), 64)
	return err != nil && strings.TrimSpace(record[1]) != ""
}

// header checks the names of columns.
func header(record, known []string) (columns []string, err error) {
	for _, c := range record {
		c = strings.ToLower(strings.TrimSpace(c))
		found := false
		for _, k := range known {
			found = found || k == c
		}
		if !found {
			return nil, fmt.Errorf("unknown column %q, available: %s", c, strings.Join(known, ","))
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// nodeColumns are the columns of a file of nodes without a header.
var nodeColumns = stateColumns[:7]

// readNodes reads name,rate[,weight,decay,arrival,cost,max-age], and passes over the
// other columns of an export but for the estimate. Empty fields are as if nothing was given.
func readNodes(r io.Reader) (nodes []node, err error) {
	seen := map[string]int{}
	err = lines(r, nodeColumns, stateColumns, func(line int, field map[string]string) error {
		n := node{field["name"], scheduler.DefaultParams()}
		if n.name == "" {
			return errors.New("a node has no name")
		}
		if first, twice := seen[n.name]; twice {
			return fmt.Errorf("node %q was on line %d already", n.name, first)
		}
		seen[n.name] = line
		if field["rate"] == "-1" && field["estimate"] != "" { // of an export: what was learnt is what there is
			field["rate"] = field["estimate"]
		}
		for column := range setters {
			if field[column] == "" || field[column] == "-1" && field["probes"] != "" {
				continue
			}
			v, err := number(column, field[column])
			if err != nil {
				return err
			}
			setters[column](&n.Params, v)
		}
		if n.Rate == scheduler.Unknown && n.Arrival == scheduler.Unknown {
			return fmt.Errorf("node %q has neither rate nor arrival", n.name)
		}
		if err := n.Check(); err != nil {
			return fmt.Errorf("node %q: %w", n.name, err)
		}
		nodes = append(nodes, n)
		return nil
	})
	return nodes, err
}

func number(column, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("%s is %q, want a number from 0 on", column, text)
	}
	return v, nil
}

// observation is a probe that took place.
type observation struct {
	time, items float64
	line        int
}

var observationColumns = []string{"name", "time", "items"}

// readObservations reads name,time,items, in any order, and returns nodes with
// estimated rates, by name. A step is as long as step units of time. What the
// first probe of a node found gathered for an unknown time and does not count.
func readObservations(r io.Reader, e scheduler.EstimatorSpec, window, step float64) (nodes []node, err error) {
	seen := map[string][]observation{}
	err = lines(r, observationColumns, observationColumns, func(line int, field map[string]string) error {
		if field["name"] == "" {
			return errors.New("an observation has no name")
		}
		at, err := number("time", field["time"])
		if err != nil {
			return err
		}
		items, err := number("items", field["items"])
		if err != nil {
			return err
		}
		if items > scheduler.MaxNumber || at/step > scheduler.MaxStep {
			return fmt.Errorf("time or items of %q are too great", field["name"])
		}
		seen[field["name"]] = append(seen[field["name"]], observation{at, items, line})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for name, list := range seen {
		sort.SliceStable(list, func(i, j int) bool { return list[i].time < list[j].time })
		rate, err := estimate(list, e, window, step)
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", name, err)
		}
		n := node{name, scheduler.DefaultParams()}
		n.Rate = rate
		nodes = append(nodes, n)
	}
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].name < nodes[j].name })
	return nodes, nil
}

// estimate is what the estimator believes after a list of probes.
func estimate(list []observation, e scheduler.EstimatorSpec, window, step float64) (float64, error) {
	if len(list) < 2 {
		return 0, fmt.Errorf("line %d is its only observation: a rate needs two", list[0].line)
	}
	stepOf := func(o observation) int64 { return int64(math.Round((o.time - list[0].time) / step)) }
	est := e.New(window)
	table := new(scheduler.Table)
	scheduler.Enter(table, est, 0, scheduler.DefaultParams(), 0)
	for i, o := range list[1:] {
		if stepOf(o) <= stepOf(list[i]) {
			return 0, fmt.Errorf("line %d is in the same step as line %d: choose a smaller -step", o.line, list[i].line)
		}
		scheduler.Observe(table, nil, est, 0, o.items, stepOf(o))
	}
	return table.Node(0).Estimate, nil
}
