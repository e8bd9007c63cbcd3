package members

import (
	"context"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
)

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
	return compute(c, func(ctx context.Context, to Changes) (func(*commands.Reply), error) {
		from, level, adds, err := to.Upgrade(ctx, dry)
		return func(r *commands.Reply) { r.Status(upgraded(from, level, adds, dry)) }, err
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
