package sched

import (
	"math"
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/glob"
	"github.com/vigildb/vigil/structures/schedule"
)

func groupRows(read, change []commands.KeySpec) []commands.Command {
	return []commands.Command{
		{Name: "SCHED.LIMIT", Arity: -5, Flags: commands.Write | commands.DenyOOM, Keys: change,
			Syntax: "key group [GAP milliseconds] [REST milliseconds] [STEPS steps] [CONCURRENCY leases]", Since: "0.2.0", Cost: "O(log n) for n groups",
			Summary: "Limits how often nodes of a group are handed out: GAP after a hand-out, REST after the end of a lease, STEPS after the step of a hand-out. 0 lifts a limit. The group is created if there is none.", Run: limit},
		{Name: "SCHED.HOLD", Arity: 4, Flags: commands.Write | commands.DenyOOM, Keys: change, Syntax: "key group milliseconds", Since: "0.2.0", Cost: "O(log n) for n groups",
			Summary: "Keeps the nodes of a group from being handed out for so long from now, as a Retry-After asks for. 0 ends that.", Run: hold},
		{Name: "SCHED.GROUP", Arity: 3, Flags: commands.ReadOnly | commands.Fast, Keys: read, Syntax: "key group", Since: "0.2.0", Cost: "O(1)",
			Summary: "Returns the limits and the state of a group.", Run: groupInfo},
		{Name: "SCHED.GROUPS", Arity: -3, Flags: commands.ReadOnly, Keys: read, Syntax: "key cursor [MATCH pattern] [COUNT count]", Since: "0.2.0",
			Cost:    "O(1) for each call, O(n) for all n groups",
			Summary: "Iterates over the groups of a schedule.", Run: scanGroups},
	}
}

func limit(c *commands.Ctx) error {
	key, group := c.Args.Key(), c.Args.Bytes()
	var once commands.Once
	var gap, rest, steps, concurrency *int64
	read := func(most int64, bad error) *int64 {
		v := c.Args.IntIn(0, most, bad)
		return &v
	}
	for c.Args.More() {
		switch once.Word(&c.Args) {
		case "GAP":
			gap = read(schedule.MaxMillis, errMillis)
		case "REST":
			rest = read(schedule.MaxMillis, errMillis)
		case "STEPS":
			steps = read(scheduler.MaxStep, errLimit)
		case "CONCURRENCY":
			concurrency = read(math.MaxInt32, errLimit)
		default:
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	if err := s.Limit(ch, group, gap, rest, steps, concurrency, c.Now); err != nil {
		return groupError(err)
	}
	c.Notify(commands.EventModule, "sched.limit", key)
	c.Reply.OK()
	return nil
}

func hold(c *commands.Ctx) error {
	key, group, millis := c.Args.Key(), c.Args.Bytes(), c.Args.IntIn(0, schedule.MaxMillis, errMillis)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	if err := s.Hold(ch, group, millis, c.Now); err != nil {
		return groupError(err)
	}
	c.Notify(commands.EventModule, "sched.hold", key)
	c.Reply.OK()
	return nil
}

// groupError is wireError of a call that names a group.
func groupError(err error) error {
	switch err {
	case schedule.ErrName:
		return errGroupName
	case schedule.ErrFull:
		return errGroupsFull
	case schedule.ErrNoGroup:
		return errGroup
	}
	return wireError(err)
}

func groupInfo(c *commands.Ctx) error {
	key, group := c.Args.Key(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, err := view(c, key)
	if err != nil {
		return err
	}
	fields, err := s.Group(group, c.Now)
	if err != nil {
		return groupError(err)
	}
	replyFields(c, fields)
	return nil
}

func scanGroups(c *commands.Ctx) error {
	key, cursor := c.Args.Key(), c.Args.Cursor()
	count, pattern := int64(defaultScan), []byte(nil)
	var once commands.Once
	for c.Args.More() {
		switch once.Word(&c.Args) {
		case "COUNT":
			if count = c.Args.Int(); c.Args.Err() == nil && count < 1 {
				c.Args.Syntax()
			}
		case "MATCH":
			pattern = c.Args.Bytes()
		default:
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, err := view(c, key)
	if err != nil {
		return err
	}
	var names []string
	next := s.ScanGroups(cursor, int(min(count, scheduler.MaxNodes)), func(group string) {
		if pattern == nil || glob.Match(pattern, []byte(group)) {
			names = append(names, group)
		}
	})
	c.Reply.Array(2)
	c.Reply.BulkString(strconv.FormatUint(next, 10))
	c.Reply.Strings(names)
	return nil
}
