package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/groups"
	"github.com/vigildb/vigil/server/audit"
)

// audited opens a server, lets do use it, and returns what the audit log has of that, as "user call: result".
func audited(t *testing.T, do func(r *rig)) (records []string) {
	t.Helper()
	log := audit.To(func(text string) {
		var m struct{ User, Call, Result, Addr string }
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.Addr == "" {
			t.Errorf("%v in %s", err, text)
		}
		records = append(records, fmt.Sprintf("%s %s: %s", m.User, m.Call, m.Result))
	}, func(text string) { t.Error(text) })
	r := newRig(t, func(o *Options) { o.Audit = log })
	do(r)
	log.Close()
	return records
}

func TestActsOfAdministratorsAreWrittenDown(t *testing.T) {
	got := audited(t, func(r *rig) {
		c := r.dial()
		c.want("SET k v", "OK")
		c.want("GET k", `"v"`)
		c.want("CONFIG GET maxmemory", `["maxmemory" "0"]`)
		c.want("CONFIG SET maxmemory 100mb", "OK")
		c.want("CONFIG SET maxmemory lots", "(error) ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value")
		c.want("CONFIG SET requirepass geheim", "OK")
		c.want("AUTH wrong", "(error) WRONGPASS invalid username-password pair or user is disabled.")
		c.want("AUTH geheim", "OK")
		c.want("HELLO 2 AUTH mallory geheim", "(error) WRONGPASS invalid username-password pair or user is disabled.")
		c.want("ACL SETUSER bob on >geheim geheim2 ~* +@all -debug", "(error) ERR Error in ACL SETUSER modifier 'geheim2': Syntax error")
		c.want("ACL SETUSER bob ON >geheim ~* +@all -debug (%R~a +get)", "OK")
		c.want("AUTH bob geheim", "OK")
		c.want("DEBUG OBJECT k", "(error) NOPERM User bob has no permissions to run the 'debug|object' command")
		c.want("MULTI", "OK")
		c.want("FLUSHDB", "QUEUED")
		c.want("SCRIPT FLUSH", "QUEUED")
		c.want("EXEC", "[OK OK]")
		c.want("EVAL return(redis.call('flushall')) 0", "OK")
		c.want("ACL DELUSER nobody", "(int) 0")
	})
	want := []string{
		`default "CONFIG" "SET" "maxmemory" "100mb": OK`,
		`default "CONFIG" "SET" "maxmemory" "lots": ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value`,
		`default "CONFIG" "SET" "requirepass" "(redacted)": OK`,
		`default "AUTH" "(redacted)": WRONGPASS`,
		`mallory "HELLO" "2" "AUTH" "(redacted)" "(redacted)": WRONGPASS`,
		`default "ACL" "SETUSER" "bob" "on" "(redacted)" "(redacted)" "~*" "+@all" "-debug": ERR Error in ACL SETUSER modifier 'geheim2': Syntax error`,
		`default "ACL" "SETUSER" "bob" "ON" "(redacted)" "~*" "+@all" "-debug" "(%R~a" "+get)": OK`,
		`bob "DEBUG" "OBJECT" "k": NOPERM`,
		`bob "FLUSHDB": OK`,
		`bob "SCRIPT" "FLUSH": OK`,
		`bob "flushall": OK`,
		`bob "ACL" "DELUSER" "nobody": OK`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("written:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Each name of the lists is a command, and of the kind that the list is for: a new command of @admin is audited unless somebody
// says that it only looks.
func TestEveryCommandOfAdministratorsIsAnActOrOnlyLooks(t *testing.T) {
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]*commands.Command{}
	for _, cmd := range table.All() {
		rows[cmd.FullName()] = cmd
	}
	for _, name := range looks {
		if cmd := rows[name]; cmd == nil || !cmd.Is(commands.Admin) || isAct(cmd) {
			t.Errorf("%s is no command of administrators that only looks", name)
		}
	}
	for _, name := range alsoActs {
		if cmd := rows[name]; cmd == nil || cmd.Is(commands.Admin) || !isAct(cmd) {
			t.Errorf("%s is no other command that changes what all share", name)
		}
	}
	for _, name := range strings.Fields("config|set acl|setuser acl|deluser shutdown debug|sleep flushall flushdb replicaof failover cluster|addslots " +
		"cluster|migrateslots script|flush function|load vigil.cluster|rebalance vigil.snapshot|delete vigil.import|path client|kill") {
		if cmd := rows[name]; cmd == nil || !isAct(cmd) {
			t.Errorf("%s is not written down", name)
		}
	}
}
