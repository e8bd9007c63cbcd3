package members

import (
	"context"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Upgrader is a server whose group has a level.
type Upgrader interface {
	// Upgrade raises the level of the group to the newest one that all members know, or says with dry what it would do. It
	// returns the level before and after, which are equal if there is nothing to do, and what the levels in between add.
	Upgrade(ctx context.Context, dry bool) (from, to uint64, adds []string, err error)
}

// upgrade raises the level of the group, at the leader, which knows what the others know.
func upgrade(c *commands.Ctx) error {
	dry := false
	if c.Args.More() {
		if dry = c.Args.Is("DRYRUN"); !dry {
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	m, err := group(c)
	if err != nil {
		return err
	}
	if !m.Leads {
		return errNotLeader(m)
	}
	by := c.Host.(Upgrader)
	return compute(c, func(ctx context.Context, _ Changes) (func(*commands.Reply), error) {
		from, to, adds, err := by.Upgrade(ctx, dry)
		return func(r *commands.Reply) { r.Status(upgraded(from, to, adds, dry)) }, err
	})
}

// upgraded says what an upgrade has done, or would do.
func upgraded(from, to uint64, adds []string, dry bool) string {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	if from == to {
		return "OK the group has level " + number(to) + ", the newest that its members know: nothing is to be done"
	}
	did, sure := "has", ", and older versions cannot take part any more"
	if dry {
		did, sure = "would have", ", and older versions could not take part any more"
	}
	return "OK the group " + did + " level " + number(to) + " in place of " + number(from) + sure + "; new: " + strings.Join(adds, ", ")
}
