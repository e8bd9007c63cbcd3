package admin

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Latency is what the server keeps of calls and other events that took long.
type Latency interface {
	// LatencyThreshold is the ms from which on an event is kept; 0: none is.
	LatencyThreshold() int64
	// LatencyEvents lists the events that are kept.
	LatencyEvents() []LatencyEvent
	// ResetLatency forgets events, all of them if none is named, and returns how
	// many there were.
	ResetLatency(names []string) int
	// Latencies returns how long the calls of a command took; calls is 0 if that is
	// not known.
	Latencies(cmd *commands.Command) (calls int64, steps []LatencyStep)
}

// LatencyEvent is a kind of event; some of this kind took long.
type LatencyEvent struct {
	Name    string
	Samples []LatencySample // at least one, the oldest first
	Max     int64           // ms, also of samples that are no longer kept
}

// LatencySample is the longest event of a second.
type LatencySample struct{ Seconds, Millis int64 }

// LatencyStep is how many calls took up to some microseconds.
type LatencyStep struct{ Micros, Calls int64 }

func latencyRows() []commands.Command {
	const all = "nondeterministic_output request_policy:all_nodes response_policy:special"
	return []commands.Command{
		{Name: "LATENCY", Arity: -2, Since: "2.8.13", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about the time that calls and other events take."},
		{Name: "LATENCY LATEST", Arity: 2, Tips: all, Flags: adminFlags, Since: "2.8.13", Cost: "O(1)",
			Summary: "Returns the latest and the longest latency spike of each event.", Run: latencyLatest},
		{Name: "LATENCY HISTORY", Arity: 3, Tips: all, Flags: adminFlags, Syntax: "event", Since: "2.8.13", Cost: "O(1)",
			Summary: "Returns the latency spikes of an event.", Run: latencyHistory},
		{Name: "LATENCY RESET", Arity: -2, Tips: "request_policy:all_nodes response_policy:agg_sum", Flags: adminFlags, Syntax: "[event [event ...]]",
			Since: "2.8.13", Cost: "O(1)",
			Summary: "Clears the latency spikes of some events, or of all, and returns the number of events cleared.", Run: latencyReset},
		{Name: "LATENCY GRAPH", Arity: 3, Tips: all, Flags: adminFlags, Syntax: "event", Since: "2.8.13", Cost: "O(1)",
			Summary: "Draws the latency spikes of an event.", Run: latencyGraph},
		{Name: "LATENCY DOCTOR", Arity: 2, Tips: all, Flags: adminFlags, Since: "2.8.13", Cost: "O(1)",
			Summary: "Describes the latency spikes, and what to look at because of them.", Run: latencyDoctor},
		{Name: "LATENCY HISTOGRAM", Arity: -2, Tips: all, Flags: adminFlags, Syntax: "[command [command ...]]", Since: "7.0.0",
			Cost:    "O(n) for n commands",
			Summary: "Returns how many calls of commands took up to 1, 2, 4 and so on microseconds.", Run: latencyHistogram},
		commands.Help("LATENCY", "2.8.13", commands.Loading|commands.Stale),
	}
}

func latencyLatest(c *commands.Ctx) error {
	events := c.Host.(Latency).LatencyEvents()
	c.Reply.Array(len(events))
	for _, e := range events {
		last := e.Samples[len(e.Samples)-1]
		c.Reply.Array(4)
		c.Reply.BulkString(e.Name)
		c.Reply.Int(last.Seconds)
		c.Reply.Int(last.Millis)
		c.Reply.Int(e.Max)
	}
	return nil
}

// eventNamed returns an event, without samples if there is none of that name.
func eventNamed(c *commands.Ctx, name string) (e LatencyEvent) {
	events := c.Host.(Latency).LatencyEvents()
	if i := slices.IndexFunc(events, func(e LatencyEvent) bool { return e.Name == name }); i >= 0 {
		e = events[i]
	}
	return e
}

func latencyHistory(c *commands.Ctx) error {
	e := eventNamed(c, c.Args.String())
	c.Reply.Array(len(e.Samples))
	for _, s := range e.Samples {
		c.Reply.Array(2)
		c.Reply.Int(s.Seconds)
		c.Reply.Int(s.Millis)
	}
	return nil
}

func latencyReset(c *commands.Ctx) error {
	var names []string
	for c.Args.More() {
		names = append(names, c.Args.String())
	}
	c.Reply.Int(int64(c.Host.(Latency).ResetLatency(names)))
	return nil
}

// graphRows is the height of a graph.
const graphRows = 4

// latencyGraph draws a column for each sample, the oldest to the left.
func latencyGraph(c *commands.Ctx) error {
	name := c.Args.String()
	e := eventNamed(c, name)
	if len(e.Samples) == 0 {
		return errNoSamples(name)
	}
	low, high := int64(math.MaxInt64), int64(0)
	for _, s := range e.Samples {
		low, high = min(low, s.Millis), max(high, s.Millis)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s - high %d ms, low %d ms (all time high %d ms)\n%s\n", e.Name, high, low, e.Max, strings.Repeat("-", 80))
	for row := graphRows - 1; row >= 0; row-- {
		for _, s := range e.Samples {
			// From 1 to all rows, by the height between the lowest and the highest.
			tall := 1 + (graphRows-1)*(s.Millis-low)/max(1, high-low)
			b.WriteByte(" #"[min(1, max(0, tall-int64(row)))])
		}
		b.WriteByte('\n')
	}
	c.Reply.Verbatim("txt", b.Bytes())
	return nil
}

// advice is what to look at when there are spikes of an event.
var advice = map[string]string{
	"command":        "SLOWLOG GET shows slow calls with their arguments. Calls on large values and on many keys take long.",
	"fast-command":   "Commands that are fast by themselves were slow: the machine may lack processors or memory, or other calls held their keys.",
	"expire-cycle":   "Many keys expired at the same time, or large values did: spread their expiry.",
	"eviction-cycle": "Memory was above maxmemory: raise it, or write less at once.",
}

func latencyDoctor(c *commands.Ctx) error {
	host := c.Host.(Latency)
	events := host.LatencyEvents()
	var b bytes.Buffer
	switch {
	case host.LatencyThreshold() == 0:
		b.WriteString("Latency spikes are not recorded. CONFIG SET latency-monitor-threshold <milliseconds> starts that.\n")
	case len(events) == 0:
		fmt.Fprintf(&b, "No event has taken %d ms or longer.\n", host.LatencyThreshold())
	}
	for _, e := range events {
		n, sum := int64(len(e.Samples)), int64(0)
		for _, s := range e.Samples {
			sum += s.Millis
		}
		fmt.Fprintf(&b, "%s: %d latency spikes, %d ms on average, in %d s; the longest ever took %d ms. %s\n", e.Name, n, sum/n,
			e.Samples[n-1].Seconds-e.Samples[0].Seconds+1, e.Max, advice[e.Name])
	}
	c.Reply.Verbatim("txt", b.Bytes())
	return nil
}

func latencyHistogram(c *commands.Ctx) error {
	rows := c.Table.All()
	if c.Args.More() {
		rows = nil
	}
	seen := map[*commands.Command]bool{}
	for c.Args.More() {
		row := c.Table.Find(c.Args.String())
		if row == nil || seen[row] {
			continue
		}
		seen[row] = true
		rows = append(rows, row)
		for _, sub := range row.Subcommands() {
			if !seen[sub] {
				seen[sub] = true
				rows = append(rows, sub)
			}
		}
	}
	c.Reply.MapLater(func() (n int) {
		for _, row := range rows {
			calls, steps := c.Host.(Latency).Latencies(row)
			if calls == 0 {
				continue
			}
			n++
			c.Reply.BulkString(row.FullName())
			c.Reply.Map(2)
			c.Reply.BulkString("calls")
			c.Reply.Int(calls)
			c.Reply.BulkString("histogram_usec")
			c.Reply.Map(len(steps))
			for _, s := range steps {
				c.Reply.Int(s.Micros)
				c.Reply.Int(s.Calls)
			}
		}
		return n
	})
	return nil
}
