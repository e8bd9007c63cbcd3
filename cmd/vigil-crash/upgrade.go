package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// With an older program a group begins with servers of that, and each that was killed comes back as the older or the newer one, from the
// directory on which the older one may not start any more. After half of the kills all are newer ones and raise the level of the group; from then on the older one must not take part.

// mix chooses the program that a server starts with next.
func (g *group) mix(i int, r *rand.Rand) {
	if g.mixed && g.runs[i] == g.old {
		g.runs[i] = []string{g.old, g.binary}[r.IntN(2)]
	}
}

// upgrade starts all servers with the newer program, one after the other, and raises the level of the group.
func (g *group) upgrade() error {
	g.mixed = false
	for i := range g.up {
		if g.runs[i] == g.binary {
			continue
		}
		g.kill(i)
		g.runs[i] = g.binary
		if err := g.start(i); err != nil {
			return err
		}
		if err := g.caughtUp(i); err != nil {
			return err
		}
	}
	var last []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		last = nil
		for i := range g.up {
			got, err := g.ask(i, "VIGIL.CLUSTER", "UPGRADE")
			if err == nil && strings.HasPrefix(got, "OK ") {
				return nil
			}
			last = append(last, fmt.Sprint(got, err))
		}
	}
	return fmt.Errorf("the level does not rise: %q", last)
}

func (g *group) ask(i int, args ...string) (string, error) {
	c, err := g.dial(i)
	if err != nil {
		return "", err
	}
	defer c.nc.Close()
	return c.do(args...)
}

// refuseOld starts the older program from the directory of a member, which it has to refuse.
func (g *group) refuseOld() error {
	if g.old == "" {
		return nil
	}
	g.kill(0)
	g.runs[0] = g.old
	if err := g.start(0); err != nil {
		return err
	}
	late := time.AfterFunc(patience, func() { _ = g.up[0].Process.Kill() })
	defer late.Stop()
	if err := g.up[0].Wait(); err == nil || !late.Stop() {
		return errors.New("the older program takes part in a group that was upgraded")
	}
	return nil
}
