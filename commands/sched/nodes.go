package sched

import (
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/glob"
	"github.com/vigildb/vigil/structures/schedule"
)

// Commands that name several nodes do all or nothing: they check every node
// before they change the first.

// readNumber reads a parameter of a node.
func readNumber(a *commands.Args) float64 {
	v := a.Float()
	if scheduler.CheckNumber(v) != nil {
		a.Fail(errNumber)
	}
	return v
}

// readNode reads a node of SCHED.ADD and the options after it, which change the
// parameters that it has. An option's word is taken as a node only in first
// place. s may be nil.
func readNode(a *commands.Args, s *schedule.Schedule) (node []byte, p scheduler.Params) {
	node = a.Bytes()
	p = scheduler.DefaultParams()
	if s != nil {
		p, _ = s.Params(node)
	}
	for {
		switch {
		case a.Is("RATE"):
			p.Rate = readNumber(a)
		case a.Is("WEIGHT"):
			p.Weight = readNumber(a)
		case a.Is("DECAY"):
			p.Decay = readNumber(a)
		case a.Is("ARRIVAL"):
			p.Arrival = readNumber(a)
		case a.Is("COST"):
			p.Cost = readNumber(a)
		case a.Is("MAXAGE"):
			p.MaxAge = a.IntIn(0, scheduler.MaxStep, errMaxAge)
		default:
			return node, p
		}
	}
}

func add(c *commands.Ctx) error {
	key := c.Args.Key()
	s, ch, err := edit(c, key)
	begin := c.Args
	if err := checkNodes(&c.Args, s, err); err != nil {
		return wireError(err)
	}
	c.Args = begin
	added := 0
	for c.Args.More() {
		node, p := readNode(&c.Args, s)
		created, err := s.Add(ch, node, p, c.Now)
		if err != nil {
			return wireError(err)
		}
		if created {
			added++
		}
	}
	c.Notify(commands.EventModule, "sched.add", key)
	c.Reply.Int(int64(added))
	return nil
}

// checkNodes reads the nodes of a SCHED.ADD and returns the first error that
// they have: of the arguments, then err, which finding the schedule gave, then
// of what the schedule says of a node.
func checkNodes(a *commands.Args, s *schedule.Schedule, err error) error {
	added := 0
	for a.More() {
		node, p := readNode(a, s)
		if err != nil || a.Err() != nil {
			continue
		}
		if err = s.CheckAdd(node, p); err != nil {
			continue
		}
		if _, old := s.Params(node); !old {
			added++
		}
	}
	if err := a.Done(); err != nil {
		return err
	}
	if err == nil && s.Len()+added > scheduler.MaxNodes {
		return schedule.ErrFull
	}
	return err
}

func remove(c *commands.Ctx) error {
	key, nodes := c.Args.Key(), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, err := edit(c, key)
	if err == commands.ErrNoKey {
		c.Reply.Int(0)
		return nil
	}
	if err != nil {
		return err
	}
	removed := 0
	for _, node := range nodes {
		if s.Remove(ch, node) {
			removed++
		}
	}
	if removed > 0 {
		c.Notify(commands.EventModule, "sched.rem", key)
	}
	c.Reply.Int(int64(removed))
	return nil
}

// checkLeases returns the error that stands in the way of ending the leases of
// all nodes, which are every step-th of args.
func checkLeases(s *schedule.Schedule, args [][]byte, step int, now int64) error {
	var seen map[string]bool
	if len(args) > step {
		seen = make(map[string]bool, len(args)/step)
	}
	for i := 0; i < len(args); i += step {
		if err := s.CheckLease(args[i], now); err != nil {
			return wireError(err)
		}
		if seen == nil {
			continue
		}
		if seen[string(args[i])] {
			return errTwice
		}
		seen[string(args[i])] = true
	}
	return nil
}

func observe(c *commands.Ctx) error {
	key, pairs := c.Args.Key(), c.Args.Rest()
	if len(pairs)%2 != 0 {
		return commands.ErrArity(c.Command)
	}
	for i := 1; i < len(pairs); i += 2 {
		if v, ok := commands.ParseFloat(pairs[i]); !ok || scheduler.CheckNumber(v) != nil {
			return errItems
		}
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	if err := checkLeases(s, pairs, 2, c.Now); err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		items, _ := commands.ParseFloat(pairs[i+1])
		if err := s.Observe(ch, pairs[i], items, c.Now); err != nil {
			return wireError(err)
		}
	}
	c.Notify(commands.EventModule, "sched.observe", key)
	c.Reply.Int(int64(len(pairs) / 2))
	return nil
}

func fail(c *commands.Ctx) error {
	key, nodes := c.Args.Key(), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	if err := checkLeases(s, nodes, 1, c.Now); err != nil {
		return err
	}
	for _, node := range nodes {
		if err := s.Fail(ch, node, c.Now); err != nil {
			return wireError(err)
		}
	}
	c.Notify(commands.EventModule, "sched.fail", key)
	c.Reply.Int(int64(len(nodes)))
	return nil
}

func nodeInfo(c *commands.Ctx) error {
	key, node := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, err := view(c, key)
	if err != nil {
		return err
	}
	fields, err := s.Node(node, c.Now)
	if err != nil {
		return wireError(err)
	}
	replyFields(c, fields)
	return nil
}

// replyFields writes the lines of SCHED.INFO or SCHED.NODE.
func replyFields(c *commands.Ctx, fields []schedule.Field) {
	c.Reply.Map(len(fields))
	for _, f := range fields {
		c.Reply.BulkString(f.Name)
		switch v := f.Value.(type) {
		case string:
			c.Reply.BulkString(v)
		case int64:
			c.Reply.Int(v)
		case float64:
			c.Reply.Double(v)
		}
	}
}

// defaultScan is the COUNT of a SCHED.NODES that says none, as of Redis's SCAN.
const defaultScan = 10

func readNodesOptions(a *commands.Args) (count int64, pattern []byte) {
	count = defaultScan
	for a.More() {
		switch a.Word() {
		case "COUNT":
			if count = a.Int(); a.Err() == nil && count < 1 {
				a.Syntax()
			}
		case "MATCH":
			pattern = a.Bytes()
		default:
			a.Syntax()
		}
	}
	return count, pattern
}

func scan(c *commands.Ctx) error {
	key, cursor := c.Args.Key(), c.Args.Cursor()
	count, pattern := readNodesOptions(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, err := view(c, key)
	if err != nil {
		return err
	}
	var names []string
	next := s.Scan(cursor, int(min(count, scheduler.MaxNodes)), func(node string) {
		if pattern == nil || glob.Match(pattern, []byte(node)) {
			names = append(names, node)
		}
	})
	c.Reply.Array(2)
	c.Reply.BulkString(strconv.FormatUint(next, 10))
	c.Reply.Strings(names)
	return nil
}
