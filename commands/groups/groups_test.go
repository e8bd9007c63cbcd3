package groups

import (
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
)

// own are the families, and the names, that Redis and RedisBloom do not have: they
// are there since a version of vigil.
func own(group, name string) bool {
	return group == "sched" || group == "place" || strings.HasPrefix(name, "VIGIL.") || name == "BF.MERGE" || name == "CF.MERGE"
}

// A row's Since is a version of vigil for vigil's own commands, not after the present
// one, and otherwise one of Redis, RedisBloom or Valkey, none of which begins with 0.
func TestNoCommandIsNewerThanTheVersion(t *testing.T) {
	seen := 0
	for _, g := range All() {
		for _, c := range g.Commands {
			switch mine := own(g.Name, c.Name); {
			case mine && !strings.HasPrefix(c.Since, "0."):
				t.Errorf("%s is vigil's own, and there since %s: want a version of vigil, as %s", c.Name, c.Since, commands.Version)
			case !mine && strings.HasPrefix(c.Since, "0."):
				t.Errorf("%s is there since %s, a version of vigil: if it is vigil's own, own (groups_test.go) has to name it or its group", c.Name, c.Since)
			case mine:
				seen++
				if number(t, c.Since) > number(t, commands.Version) {
					t.Errorf("%s is there since %s, and this is %s", c.Name, c.Since, commands.Version)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d commands are vigil's own, want more", seen)
	}
}

// number orders versions.
func number(t *testing.T, version string) (n int64) {
	t.Helper()
	parts := strings.Split(version, ".")
	if len(parts) != 3 {
		t.Fatalf("version %q", version)
	}
	for _, part := range parts {
		v, ok := commands.ParseInt([]byte(part))
		if !ok || v < 0 || v > 999 {
			t.Fatalf("version %q", version)
		}
		n = n*1000 + v
	}
	return n
}
