package sched

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/glob"
	"github.com/vigildb/vigil/structures/schedule"
)

const (
	// defaultScan is the COUNT of a SCHED.NODES that says none, as of Redis's SCAN.
	defaultScan = 10
	// mostLookedAt bounds the nodes that a call looks at whose reply or choice needs
	// more than names: some ten milliseconds.
	mostLookedAt = 10_000
)

// selection is what a SCHED.NODES asks for.
type selection struct {
	count          int64
	pattern        []byte
	leased, paused bool
	overdue        bool
	group          []byte   // nil: any
	minAge         int64    // -1: any
	fields         []string // nil: names only
}

// nodeFields are the fields that WITH knows: those of SCHED.NODE after the name.
func nodeFields() []string {
	return []string{"rate", "weight", "decay", "arrival", "cost", "max-age", "estimate", "age", "index", "probes", "items", "lease-ms",
		"precision", "recall", "signals", "nats", "paused-ms", "group", "deadline"}
}

func readSelection(a *commands.Args) selection {
	var once commands.Once
	o := selection{count: defaultScan, minAge: -1}
	for a.More() {
		switch once.Word(a) {
		case "COUNT":
			if o.count = a.Int(); a.Err() == nil && o.count < 1 {
				a.Syntax()
			}
		case "MATCH":
			o.pattern = a.Bytes()
		case "LEASED":
			o.leased = true
		case "PAUSED":
			o.paused = true
		case "OVERDUE":
			o.overdue = true
		case "GROUP":
			o.group = append([]byte{}, a.Bytes()...)
		case "MINAGE":
			o.minAge = a.IntIn(0, scheduler.MaxStep, errMaxAge)
		case "WITH":
			o.fields = readFields(a)
		default:
			a.Syntax()
		}
	}
	return o
}

// readFields reads the fields of WITH, which are the rest of the call.
func readFields(a *commands.Args) (fields []string) {
	known := nodeFields()
	for first := true; first || a.More(); first = false {
		name := strings.ToLower(a.String())
		if name == "paused" { // as the filter is called
			name = "paused-ms"
		}
		switch {
		case a.Err() != nil:
			return fields
		case !slices.Contains(known, name):
			a.Fail(commands.Errorf("ERR unknown field '%.64s', available: %s", name, strings.Join(known, ", ")))
		case len(fields) == len(known): // nobody needs one twice
			a.Syntax()
		}
		fields = append(fields, name)
	}
	return fields
}

// names says that a node's name is all that is looked at.
func (o *selection) names() bool {
	return !o.leased && !o.paused && !o.overdue && o.group == nil && o.minAge < 0 && o.fields == nil
}

// takes says whether a node with these fields is asked for.
func (o *selection) takes(fields map[string]any) bool {
	left, paused, age := fields["lease-ms"].(int64), fields["paused-ms"].(int64), fields["age"].(int64)
	if deadline := fields["deadline"].(int64); o.overdue && (deadline == 0 || age <= deadline) {
		return false
	}
	if o.group != nil && fields["group"].(string) != string(o.group) {
		return false
	}
	return (!o.leased || left > 0) && (!o.paused || paused != 0) && age >= o.minAge
}

func scan(c *commands.Ctx) error {
	key, cursor := c.Args.Key(), c.Args.Cursor()
	o := readSelection(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, err := view(c, key)
	if err != nil {
		return err
	}
	count := min(o.count, scheduler.MaxNodes)
	if !o.names() {
		count = min(count, mostLookedAt)
	}
	var names []string
	next := s.Scan(cursor, int(count), func(node string) {
		if o.pattern == nil || glob.Match(o.pattern, []byte(node)) {
			names = append(names, node)
		}
	})
	c.Reply.Array(2)
	c.Reply.BulkString(strconv.FormatUint(next, 10))
	if o.names() {
		c.Reply.Strings(names)
		return nil
	}
	return o.reply(c, s, names)
}

// reply writes those of the nodes that are asked for: names, or [name, value, ...].
func (o *selection) reply(c *commands.Ctx, s *schedule.Schedule, names []string) error {
	rows := make([][]any, 0, len(names))
	for _, node := range names {
		list, err := s.Node([]byte(node), c.Now)
		if err != nil {
			return wireError(err)
		}
		fields := make(map[string]any, len(list))
		for _, f := range list {
			fields[f.Name] = f.Value
		}
		if !o.takes(fields) {
			continue
		}
		row := []any{node}
		for _, name := range o.fields {
			row = append(row, fields[name])
		}
		rows = append(rows, row)
	}
	c.Reply.Array(len(rows))
	for _, row := range rows {
		if o.fields != nil {
			c.Reply.Array(len(row))
		}
		for _, v := range row {
			replyValue(c, v)
		}
	}
	return nil
}
