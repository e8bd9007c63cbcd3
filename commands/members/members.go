package members

import (
	"context"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// Changes is a server whose group can change. The calls wait until a change is made or turns out to be
// impossible, but those that end the leadership of this server, after which its clients are
// disconnected.
type Changes interface {
	// RemoveMember takes a member out of the group, with force also if too few others are heard now.
	RemoveMember(ctx context.Context, member uint64, force bool) error
	// ReplaceMember makes a member vote in the place of another one, which leaves.
	ReplaceMember(ctx context.Context, leaves, by uint64) error
	// TransferTo transfers leadership to a member.
	TransferTo(member uint64) error
	// RecoverVote makes this server vote although it may lack what it has acknowledged. It returns the
	// last entry that it has, and the term of that.
	RecoverVote() (last, term uint64, err error)
	// BuryGroup has the group of the node with an ID, which is another one and was not heard for long, have no slots any more. It
	// returns those that no group has now. known is false if no group has such a node.
	BuryGroup(ctx context.Context, node string) (freed *slots.Set, known bool, err error)
}

const flags = commands.Admin | commands.Dangerous | commands.NoScript | commands.NoMulti | commands.Stale

// Group returns the rows.
func Group() commands.Group {
	row := func(name string, arity int, syntax, cost, summary string, run func(*commands.Ctx) error) commands.Command {
		return commands.Command{Name: "VIGIL.CLUSTER " + name, Arity: arity, Flags: flags, Syntax: syntax, Since: "0.2.0", Cost: cost, Summary: summary, Run: run}
	}
	const change = "O(n) for n members, and a round of messages between them."
	return commands.Group{Name: "members", Commands: []commands.Command{
		{Name: "VIGIL.CLUSTER", Arity: -2, Since: "0.2.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands that show and change the members of a group."},
		row("BURY", -3, "node-id [LOSE-WRITES]", "O(n) for n groups, and a round of messages between the members of this one.", "Gives up a group that is gone for good, and frees its slots.", bury),
		row("LEAVE", -3, "member [FORCE]", change, "Takes a member out of the group: one that is lost, or that is no longer needed.", leave),
		row("REBALANCE", -2, "[DRYRUN] [WEIGHT node-id weight [node-id weight ...]]", "O(n) for n slots, and O(n) for n keys in the background.", "Moves slots between the groups so that each has its share.", rebalance),
		row("RECOVER", -2, "[LOSE-WRITES]", "O(1)", "Lets a member vote that waits because it may lack what it acknowledged.", recoverVote),
		row("REPLACE", 5, "old BY new", change, "Replaces a member that votes by a new one; the old one leaves.", replace),
		row("SNAPSHOT", -3, "<CREATE [name] | LIST | DELETE name>", "O(f) for f files of the stores of all groups, and some rounds of messages between these.", "Makes, lists and removes snapshots of a whole cluster, in which every slot is once.", snapshot),
		row("STATUS", 2, "", "O(n) for n members of the group", "Describes the members and what the member that is asked knows of them.", status),
		row("TRANSFER", 3, "member", "O(n) for n members of the group", "Transfers leadership to a member.", transfer),
		unshareRow(row("UNSHARE", -3, "parameter [parameter ...]", "O(n) for n parameters", "Gives each member its own value again of parameters that the group shares.", unshare)),
		row("UPGRADE", -2, "[DRYRUN]", change, "Lets the members use what all of them have a version for, and older versions do not read.", upgrade),
		commands.Help("VIGIL.CLUSTER", "0.2.0", commands.Loading|commands.Stale),
	}}
}

// group returns the group, and an error if the server is alone.
func group(c *commands.Ctx) (*commands.Membership, error) {
	m := c.Membership()
	switch {
	case m == nil:
		return nil, errAlone
	case m.Gone:
		return nil, commands.ErrLeftGroup
	}
	return m, nil
}

// find returns the member with a name: its number, its address or its id.
func find(m *commands.Membership, name string) (*commands.Member, error) {
	for i := range m.Members {
		o := &m.Members[i]
		if name == strconv.FormatUint(o.Number, 10) || name == o.Address() || strings.EqualFold(name, o.ID) {
			return o, nil
		}
	}
	return nil, errUnknownMember(name)
}

// named ends the arguments of a call, and returns the group and the member with a name.
func named(c *commands.Ctx, name string) (*commands.Membership, *commands.Member, error) {
	if err := c.Args.Done(); err != nil {
		return nil, nil, err
	}
	m, err := group(c)
	if err != nil {
		return nil, nil, err
	}
	o, err := find(m, name)
	return m, o, err
}

// leave takes a member out at the leader. A member can also be asked to leave itself.
func leave(c *commands.Ctx) error {
	name, force := c.Args.String(), false
	if c.Args.More() {
		if force = c.Args.Is("FORCE"); !force {
			c.Args.Syntax()
		}
	}
	m, o, err := named(c, name)
	if err != nil {
		return err
	}
	if !m.Leads && o != &m.Members[m.Self] {
		return errNotLeader(m)
	}
	number := o.Number
	return change(c, func(ctx context.Context, to Changes) error { return to.RemoveMember(ctx, number, force) })
}

func replace(c *commands.Ctx) error {
	old := c.Args.String()
	if !c.Args.Is("BY") {
		c.Args.Syntax()
	}
	by := c.Args.String()
	m, leaves, err := named(c, old)
	if err != nil {
		return err
	}
	comes, err := find(m, by)
	switch {
	case err != nil:
		return err
	case leaves == comes:
		return errSelfAsNew
	case !m.Leads:
		return errNotLeader(m)
	}
	return change(c, func(ctx context.Context, to Changes) error { return to.ReplaceMember(ctx, leaves.Number, comes.Number) })
}

func transfer(c *commands.Ctx) error {
	name := c.Args.String()
	m, o, err := named(c, name)
	if err != nil {
		return err
	}
	if !m.Leads {
		return errNotLeader(m)
	}
	return change(c, func(_ context.Context, to Changes) error { return to.TransferTo(o.Number) })
}

// recoverVote needs a word that says what it may cost.
func recoverVote(c *commands.Ctx) error {
	sure, err := readSure(c)
	if err != nil {
		return err
	}
	if _, err := group(c); err != nil {
		return err
	}
	if !sure {
		return errRecover
	}
	return compute(c, func(_ context.Context, to Changes) (func(*commands.Reply), error) {
		last, term, err := to.RecoverVote()
		return func(r *commands.Reply) {
			r.Status("OK this member votes again, with entries up to " + strconv.FormatUint(last, 10) + " of term " + strconv.FormatUint(term, 10))
		}, err
	})
}

// bury needs the word too: the keys of the group are lost with it.
func bury(c *commands.Ctx) error {
	node := c.Args.String()
	sure, err := readSure(c)
	if err != nil {
		return err
	}
	m, err := group(c)
	switch {
	case err != nil:
		return err
	case !c.Host.Limits().Slots:
		return errNoSlots
	case !m.Leads:
		return errNotLeader(m)
	case !sure:
		return errBury
	}
	return compute(c, func(ctx context.Context, to Changes) (func(*commands.Reply), error) {
		freed, known, err := to.BuryGroup(ctx, node)
		if err == nil && !known {
			err = errUnknownNode([]byte(node))
		}
		return func(r *commands.Reply) {
			if freed.Len() == 0 {
				r.OK()
				return
			}
			r.Status("OK the slots " + freed.String() + " have no group now")
		}, err
	})
}

// readSure reads the word that says that writes may be lost, if it is there, which is the last argument.
func readSure(c *commands.Ctx) (sure bool, err error) {
	if c.Args.More() {
		if sure = c.Args.Is("LOSE-WRITES"); !sure {
			c.Args.Syntax()
		}
	}
	return sure, c.Args.Done()
}

// change changes the group and replies when that is done.
func change(c *commands.Ctx, do func(ctx context.Context, to Changes) error) error {
	return compute(c, func(ctx context.Context, to Changes) (func(*commands.Reply), error) {
		return (*commands.Reply).OK, do(ctx, to)
	})
}

// compute runs what waits for others.
func compute(c *commands.Ctx, do func(ctx context.Context, to Changes) (func(*commands.Reply), error)) error {
	if err := c.MayCompute(0); err != nil {
		return err
	}
	to := c.Host.(Changes)
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		reply, err := do(ctx, to)
		return reply, wire(err)
	})
}
