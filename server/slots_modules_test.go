package server

import (
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
)

// ofModules reports whether a command is one of those that Redis has from modules.
func ofModules(cmd *commands.Command) bool {
	family, _, ok := strings.Cut(cmd.Name, ".")
	return ok && strings.Contains(" BF CF CMS TOPK TDIGEST JSON ", " "+family+" ")
}

// severalKeys are calls of module commands about the keys 1 and 2 that do something if these are of one slot.
var severalKeys = map[string]string{
	"JSON.MSET":     "JSON.MSET 1 $ 1 2 $ 2",
	"JSON.MGET":     "JSON.MGET 1 2 $",
	"BF.MERGE":      "BF.MERGE 1 1 2",
	"CF.MERGE":      "CF.MERGE 1 1 2",
	"CMS.MERGE":     "CMS.MERGE 1 1 2 WEIGHTS 3",
	"TDIGEST.MERGE": "TDIGEST.MERGE 1 1 2 COMPRESSION 50",
}

// made are calls that make the two keys that a command is about, by its family.
var made = map[string]string{"BF": "BF.ADD k x", "CF": "CF.ADD k x", "CMS": "CMS.INITBYDIM k 5 5", "TDIGEST": "TDIGEST.CREATE k", "JSON": "JSON.SET k $ 5"}

// Commands of modules about several keys take those of one slot only, alone, in MULTI and in scripts, as those of Redis itself do. The
// module declares only the first key of CMS.MERGE, and looks for the others at the server that is asked.
func TestKeysOfModuleCommandsAreOfOneSlot(t *testing.T) {
	r := newSlotsRig(t)
	known := 0
	for _, cmd := range r.srv.table.All() {
		if !ofModules(cmd) || len(cmd.Keys) == 0 || len(cmd.Keys) == 1 && cmd.Keys[0].Last == 0 && !cmd.Keys[0].Numbered {
			continue
		}
		call, ok := severalKeys[cmd.Name]
		if !ok {
			t.Errorf("%s: no call of several keys is known", cmd.Name)
			continue
		}
		known++
		c := r.dial()
		about := func(first, second string) string {
			words := strings.Fields(call)
			var argv [][]byte
			for _, w := range words {
				argv = append(argv, []byte(w))
			}
			for _, k := range cmd.AppendKeys(nil, argv) {
				words[k.Index] = map[string]string{"1": first, "2": second}[words[k.Index]]
			}
			return strings.Join(words, " ")
		}
		family, _, _ := strings.Cut(cmd.Name, ".")
		for _, key := range []string{"{a}1", "{a}2", "b"} {
			c.do("DEL", key)
			if got := c.do(strings.Fields(strings.Replace(made[family], "k", key, 1))...); strings.HasPrefix(got, "(error)") {
				t.Fatalf("%s %s: %s", made[family], key, got)
			}
		}
		digest, lsn := c.do("DEBUG", "DIGEST"), r.srv.store.Stats().LSN
		for _, keys := range [][2]string{{"{a}1", "b"}, {"b", "{a}1"}} {
			call := about(keys[0], keys[1])
			c.want(call, crossSlot)
			c.want("MULTI", "OK")
			c.want(call, crossSlot)
			c.want("EXEC", execAborted)
			script := "return redis.pcall('" + strings.Join(strings.Fields(call), "','") + "')"
			want := "(error) ERR Command '" + strings.ToLower(cmd.Name) + "' in script attempted to access keys that don't hash to the same slot"
			if got := c.do("EVAL", script, "0"); !strings.HasPrefix(got, want) {
				t.Errorf("%s in a script: %s, want %s", call, got, want)
			}
		}
		if got := r.srv.store.Stats().LSN; got != lsn || c.do("DEBUG", "DIGEST") != digest {
			t.Errorf("%s: refused calls made records %d to %d", cmd.Name, lsn, got)
		}
		if got := c.do(strings.Fields(about("{a}1", "{a}2"))...); strings.HasPrefix(got, "(error)") {
			t.Errorf("%s: keys of one slot: %s", cmd.Name, got)
		}
	}
	if known != len(severalKeys) {
		t.Errorf("calls of %d commands are known, and the table has %d of these", len(severalKeys), known)
	}
}
