package sched

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/schedule"
)

func pauseRows(change []commands.KeySpec) []commands.Command {
	return []commands.Command{
		{Name: "SCHED.PAUSE", Arity: -4, Flags: commands.Write | commands.DenyOOM, Keys: change, Syntax: "key milliseconds node [node ...]", Since: "0.2.0",
			Cost:    "O(log n) for each node",
			Summary: "Keeps nodes from being handed out for some time, or until SCHED.RESUME if it is 0. Returns how many of them there are.", Run: pause},
		{Name: "SCHED.RESUME", Arity: -3, Flags: commands.Write, Keys: change, Syntax: "key node [node ...]", Since: "0.2.0", Cost: "O(log n) for each node",
			Summary: "Ends the pauses of nodes, and returns how many had one.", Run: resume},
		{Name: "SCHED.TAKE", Arity: -4, Flags: commands.Write, Keys: change, Syntax: "key milliseconds node [node ...]", Since: "0.2.0",
			Cost:    "O(log n) for each node",
			Summary: "Leases nodes by name, and returns those that were neither leased nor paused.", Run: take},
	}
}

// timed is what SCHED.PAUSE and SCHED.TAKE say.
type timed struct {
	key    []byte
	millis int64
	nodes  [][]byte
}

// editTimed reads the arguments of such a call, and finds the schedule.
func editTimed(c *commands.Ctx) (t timed, s *schedule.Schedule, ch *structures.Change, err error) {
	t = timed{key: c.Args.Key(), millis: c.Args.IntIn(0, schedule.MaxMillis, errMillis), nodes: c.Args.Rest()}
	if err = c.Args.Done(); err == nil {
		s, ch, err = edit(c, t.key)
	}
	return t, s, ch, err
}

func pause(c *commands.Ctx) error {
	t, s, ch, err := editTimed(c)
	if err != nil {
		return err
	}
	return counted(c, "sched.pause", t.key, t.nodes, func(node []byte) (bool, error) { return s.Pause(ch, node, t.millis, c.Now) })
}

func resume(c *commands.Ctx) error {
	key, nodes := c.Args.Key(), c.Args.Rest()
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, err := edit(c, key)
	if err != nil {
		return err
	}
	return counted(c, "sched.resume", key, nodes, func(node []byte) (bool, error) { return s.Resume(ch, node, c.Now) })
}

// counted does something to each node and replies for how many it meant something.
func counted(c *commands.Ctx, event string, key []byte, nodes [][]byte, do func(node []byte) (bool, error)) error {
	count := 0
	for _, node := range nodes {
		done, err := do(node)
		if err != nil {
			return wireError(err)
		}
		if done {
			count++
		}
	}
	if count > 0 {
		c.Notify(commands.EventModule, event, key)
	}
	c.Reply.Int(int64(count))
	return nil
}

func take(c *commands.Ctx) error {
	t, s, ch, err := editTimed(c)
	if err != nil {
		return err
	}
	places, err := s.Take(ch, t.nodes, t.millis, c.Now)
	if err != nil {
		return wireError(err)
	}
	if len(places) > 0 {
		c.Notify(commands.EventModule, "sched.take", t.key)
	}
	c.Reply.Array(len(places))
	for _, i := range places {
		c.Reply.Bulk(t.nodes[i])
	}
	return nil
}
