package sched

import (
	"errors"
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/schedule"
)

// Commands that name several nodes check all arguments before they change the
// first node. SCHED.OBSERVE and SCHED.FAIL pass over nodes that are not leased, and
// name them: a worker that is late with one probe does not lose the others.

// nodeOptions are the options of SCHED.ADD. The others are of commands about nodes
// that vigil may have later.
func nodeOptions() commands.Names {
	return commands.Names{Options: []string{"RATE", "WEIGHT", "DECAY", "ARRIVAL", "COST", "MAXAGE", "PRECISION", "RECALL", "GROUP",
		"DEADLINE", "AGE", "SEEN"}, Others: []string{"RETRY", "AGO"}, Bare: true}
}

// readNumber reads a parameter of a node.
func readNumber(a *commands.Args) float64 {
	v := a.Float()
	if scheduler.CheckNumber(v) != nil {
		a.Fail(errNumber)
	}
	return v
}

// readShare reads a precision or a recall; -1 says that it is to be learnt.
func readShare(a *commands.Args) float64 {
	v := a.Float()
	if v != scheduler.Unknown && !(v >= 0 && v <= 1) {
		a.Fail(errShare)
	}
	return v
}

// entry is a node of SCHED.ADD.
type entry struct {
	node   []byte
	params scheduler.Params
	group  []byte // nil: not said
	past   schedule.Past
}

// readNode reads a node of SCHED.ADD and the options after it, which change the
// parameters that it has. s may be nil.
func readNode(a *commands.Args, s *schedule.Schedule, names *commands.Names) entry {
	e := entry{node: a.Bytes(), params: scheduler.DefaultParams(), past: schedule.NoPast()}
	p := &e.params
	if s != nil {
		*p, _ = s.Params(e.node)
	}
	var once commands.Once
	for names.Option(a.Peek()) {
		switch once.Word(a) {
		case "RATE":
			p.Rate = readNumber(a)
		case "WEIGHT":
			p.Weight = readNumber(a)
		case "DECAY":
			p.Decay = readNumber(a)
		case "ARRIVAL":
			p.Arrival = readNumber(a)
		case "COST":
			if p.Priced = 0; a.Is("-1") { // learnt from OBSERVE
				p.Priced = 1
			} else {
				p.Cost = readNumber(a)
			}
		case "DEADLINE":
			p.Deadline = a.IntIn(0, scheduler.MaxStep, errDeadline)
		case "MAXAGE":
			p.MaxAge = a.IntIn(0, scheduler.MaxStep, errMaxAge)
		case "PRECISION":
			p.Precision = readShare(a)
		case "RECALL":
			p.Recall = readShare(a)
		case "GROUP":
			if e.group = a.Bytes(); len(e.group) > schedule.MaxName {
				a.Fail(errGroupName)
			}
		case "AGE":
			e.past.Age = a.IntIn(0, scheduler.MaxStep, errMaxAge)
		case "SEEN":
			e.past.Probes, e.past.Items = a.IntIn(0, scheduler.MaxNumber, errSeen), a.Float()
			if scheduler.CheckNumber(e.past.Items) != nil {
				a.Fail(errSeen)
			}
		}
	}
	return e
}

func add(c *commands.Ctx) error {
	key := c.Args.Key()
	s, ch, err := edit(c, key)
	begin, names := c.Args, nodeOptions()
	if err := checkNodes(&c.Args, s, ch, &names, err); err != nil {
		return wireError(err)
	}
	c.Args = begin
	added := 0
	for c.Args.More() {
		e := readNode(&c.Args, s, &names)
		created, err := e.add(c, s, ch)
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

// groupIn is the group that a node is to be in, and whether it is given one.
func (e *entry) groupIn(s *schedule.Schedule, created bool) ([]byte, bool) {
	if e.group == nil && created && s.Config().ByHost {
		host := schedule.HostOf(e.node)
		return []byte(host), host != ""
	}
	return e.group, e.group != nil
}

func (e *entry) add(c *commands.Ctx, s *schedule.Schedule, ch *structures.Change) (created bool, err error) {
	if created, err = s.Add(ch, e.node, e.params, c.Now); err != nil {
		return created, err
	}
	if group, given := e.groupIn(s, created); given {
		if err := s.SetGroup(ch, e.node, group, c.Now); err != nil {
			return created, err
		}
	}
	return created, s.SetPast(ch, e.node, e.past, c.Now)
}

// checkNodes reads the nodes of a SCHED.ADD and returns the first error that
// they have: of the arguments, then err, which finding the schedule gave, then
// of what the schedule says of a node.
func checkNodes(a *commands.Args, s *schedule.Schedule, ch *structures.Change, names *commands.Names, err error) error {
	added, groups := 0, 0
	names.First(a.Peek())
	for first := true; a.More(); first = false {
		if !first {
			names.Refuse(a)
		}
		e := readNode(a, s, names)
		if err != nil || a.Err() != nil {
			continue
		}
		if err = s.CheckAdd(ch, e.node, e.params); err != nil {
			continue
		}
		_, old := s.Params(e.node)
		if !old {
			added++
		}
		if group, given := e.groupIn(s, !old); given {
			groups++
			err = s.CheckGroup(ch, group, groups)
		}
		if err == nil {
			err = s.CheckPast(ch, e.past)
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

// leased returns which of the nodes, every step-th of args, are leased, by their
// places in args, and the names of the others.
func leased(s *schedule.Schedule, args [][]byte, step int, now int64) (held []int, late []string, err error) {
	if len(args) > step {
		seen := make(map[string]bool, len(args)/step)
		for i := 0; i < len(args); i += step {
			if seen[string(args[i])] {
				return nil, nil, errTwice
			}
			seen[string(args[i])] = true
		}
	}
	held = make([]int, 0, len(args)/step)
	for i := 0; i < len(args); i += step {
		switch err := s.CheckLease(args[i], now); {
		case err == nil:
			held = append(held, i)
		case len(args) > step && (errors.Is(err, schedule.ErrNotLeased) || errors.Is(err, schedule.ErrNoNode)):
			late = append(late, string(args[i]))
		default: // a call about one node that is late is an error
			return nil, nil, wireError(err)
		}
	}
	return held, late, nil
}

// replyLeased replies to a call that has ended the leases of nodes: their number,
// and if others were late an array of the number and the names of these.
func replyLeased(c *commands.Ctx, event string, key []byte, ended int, late []string) {
	if ended > 0 {
		c.Notify(commands.EventModule, event, key)
	}
	if len(late) == 0 {
		c.Reply.Int(int64(ended))
		return
	}
	c.Reply.Array(1 + len(late))
	c.Reply.Int(int64(ended))
	for _, node := range late {
		c.Reply.BulkString(node)
	}
}

// found is a node of SCHED.OBSERVE.
type found struct {
	items, cost float64 // cost: -1 if it is not said
}

func readItems(a *commands.Args) float64 {
	v, ok := commands.ParseFloat(a.Bytes())
	if !ok || scheduler.CheckNumber(v) != nil {
		a.Fail(errItems)
	}
	return v
}

// readFound reads nodes and what was found there. The first argument is a node whatever
// it looks like.
func readFound(a *commands.Args) (nodes [][]byte, list []found) {
	for a.More() {
		nodes = append(nodes, a.Bytes())
		f := found{readItems(a), -1}
		if a.Is("COST") {
			if f.cost = a.Float(); scheduler.CheckNumber(f.cost) != nil {
				a.Fail(errNumber)
			}
		}
		list = append(list, f)
	}
	return nodes, list
}

func observe(c *commands.Ctx) error {
	key := c.Args.Key()
	if pairs := c.Args.Left(); pairs%2 != 0 {
		return commands.ErrArity(c.Command)
	}
	nodes, list := readFound(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	held, late, err := leased(s, nodes, 1, c.Now)
	if err == nil && slices.ContainsFunc(held, func(i int) bool { return list[i].cost >= 0 }) {
		err = schedule.MayPay(ch) // before the first of them is observed
	}
	if err != nil {
		return err
	}
	for _, i := range held {
		if list[i].cost >= 0 {
			if err := s.Pay(ch, nodes[i], list[i].cost, c.Now); err != nil {
				return wireError(err)
			}
		}
		if err := s.Observe(ch, nodes[i], list[i].items, c.Now); err != nil {
			return wireError(err)
		}
	}
	replyLeased(c, "sched.observe", key, len(held), late)
	return nil
}

// readFailed reads the nodes of a SCHED.FAIL, and for how long each is to be left
// alone. The first argument is a node whatever it looks like.
func readFailed(a *commands.Args) (nodes [][]byte, retries []int64) {
	for a.More() {
		nodes = append(nodes, a.Bytes())
		retries = append(retries, 0)
		if a.Is("RETRY") {
			retries[len(retries)-1] = a.IntIn(1, schedule.MaxMillis, errMillis)
		}
	}
	return nodes, retries
}

func fail(c *commands.Ctx) error {
	key := c.Args.Key()
	nodes, retries := readFailed(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	held, late, err := leased(s, nodes, 1, c.Now)
	if err == nil && slices.ContainsFunc(held, func(i int) bool { return retries[i] > 0 }) {
		err = schedule.MayPause(ch) // before the first of them fails
	}
	if err != nil {
		return err
	}
	for _, i := range held {
		if err := s.Fail(ch, nodes[i], c.Now); err != nil {
			return wireError(err)
		}
		if retries[i] > 0 {
			if _, err := s.Pause(ch, nodes[i], retries[i], c.Now); err != nil {
				return wireError(err)
			}
		}
	}
	replyLeased(c, "sched.fail", key, len(held), late)
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
		replyValue(c, f.Value)
	}
}

func replyValue(c *commands.Ctx, v any) {
	switch v := v.(type) {
	case string:
		c.Reply.BulkString(v)
	case int64:
		c.Reply.Int(v)
	case float64:
		c.Reply.Double(v)
	}
}
