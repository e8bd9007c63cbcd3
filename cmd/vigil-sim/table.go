package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// formats write the table, by name.
var formats = map[string]func(w io.Writer, rows []row, rewards bool) error{
	"text": writeText, "csv": writeCSV, "json": writeJSON,
}

// columnsOf are the titles of the table and the cells of a row.
func columnsOf(rewards bool) (titles []string, cells func(row, func(float64) string) []string) {
	if rewards {
		return []string{"policy", "estimator", "reward", "bound", "ratio", "probes/step"},
			func(r row, f func(float64) string) []string {
				return []string{r.Policy, r.Estimator, f(r.Value), f(r.Bound), f(r.Ratio), f(r.Probes)}
			}
	}
	return []string{"policy", "estimator", "cost", "LB1", "LB2", "LB3", "ratio", "probes/step"},
		func(r row, f func(float64) string) []string {
			return []string{r.Policy, r.Estimator, f(r.Value), f(r.LB1), f(r.LB2), f(r.Bound), f(r.Ratio), f(r.Probes)}
		}
}

func writeText(w io.Writer, rows []row, rewards bool) error {
	titles, cells := columnsOf(rewards)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	write := func(list []string) {
		// The name is aligned to the left, numbers to the right.
		fmt.Fprintf(out, "%-11s\t%-9s\t", list[0], list[1])
		for _, cell := range list[2:] {
			fmt.Fprintf(out, "%s\t", cell)
		}
		fmt.Fprintln(out)
	}
	write(titles)
	for _, r := range rows {
		write(cells(r, func(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }))
	}
	return out.Flush()
}

func writeCSV(w io.Writer, rows []row, rewards bool) error {
	titles, cells := columnsOf(rewards)
	out := csv.NewWriter(w)
	out.Write(titles) // what fails is told by Error
	for _, r := range rows {
		out.Write(cells(r, func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }))
	}
	out.Flush()
	return out.Error()
}

func writeJSON(w io.Writer, rows []row, _ bool) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(rows)
}
