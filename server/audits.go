package server

import (
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/audit"
)

// audits say which calls are acts of administration, and tell the audit log of them.
type audits struct {
	log  *audit.Log // nil: nobody is told
	acts []bool     // by the ID of a command
}

// Acts of administration are the commands of the category @admin but for those that only look, and others that change what all
// clients share. A new command of @admin is one.
var (
	looks = strings.Fields(`acl|dryrun acl|getuser acl|list acl|users client|list client|no-evict cluster|count-failure-reports cluster|getslotmigrations
		cluster|replicas cluster|slaves commandlog|get commandlog|len config|get debug|help hotkeys|get latency|doctor latency|graph
		latency|histogram latency|history latency|latest module|list pfdebug pfselftest replconf sentinel|ckquorum sentinel|get-master-addr-by-name
		sentinel|master sentinel|masters sentinel|myid sentinel|replicas sentinel|sentinels sentinel|slaves slowlog|get slowlog|len
		vigil.backup|help vigil.backup|list vigil.backup|status vigil.changes|from vigil.changes|help vigil.changes|now vigil.cluster|status vigil.export|help vigil.export|status vigil.import|help
		vigil.import|status vigil.snapshot|help vigil.snapshot|list`)
	alsoActs = strings.Fields(`flushall flushdb swapdb script|flush script|kill function|load function|delete function|flush function|restore
		function|kill bless|set bless|clear`)
)

// open says what is told to a log, which may be nil.
func (a *audits) open(log *audit.Log, table *commands.Table) {
	a.log = log
	if log == nil {
		return
	}
	all := table.All()
	a.acts = make([]bool, len(all))
	for _, cmd := range all {
		a.acts[cmd.ID()] = isAct(cmd)
	}
}

// isAct reports whether a command is an act of administration.
func isAct(cmd *commands.Command) bool {
	name := cmd.FullName() // as the table has it: rename-command comes later
	if cmd.Is(commands.Admin) {
		return len(cmd.Subcommands()) == 0 && !slices.Contains(looks, name)
	}
	return slices.Contains(alsoActs, name)
}

// wants reports whether a call is to be told. The compiler inlines it.
func (a *audits) wants(cmd *commands.Command) bool { return a.log != nil && a.acts[cmd.ID()] }

// auditBegun is the result of a call that has its outcome later, as the moves of slots that a group has to agree on.
const auditBegun = "begun"

// invoke runs the handler of a call, and tells what came of it. The arguments are looked at first: handlers may take them over.
// What a master sends is no act of an administrator of this server.
func (a *audits) invoke(s *session, cmd *commands.Command, argv [][]byte) error {
	if s.applies {
		return s.handle(cmd, argv)
	}
	call := a.call(s, cmd, argv)
	err := s.handle(cmd, argv)
	result := "OK"
	if err != nil {
		text, _ := commands.Text(err)
		result = string(text)
	} else if s.waiting != nil {
		result = auditBegun
	}
	a.log.Add(a.record(s, call, result))
	return err
}

// add tells of a call that is not run here.
func (a *audits) add(s *session, cmd *commands.Command, argv [][]byte, result string, stranger bool) {
	r := a.record(s, a.call(s, cmd, argv), result)
	r.Stranger = stranger
	a.log.Add(r)
}

// wrongPassword tells of an AUTH, or a HELLO with one, that was refused: the user is the one that the client says it is.
func (a *audits) wrongPassword(s *session, c *commands.Ctx, user string) {
	if a.log == nil {
		return
	}
	r := a.record(s, a.call(s, c.Command, c.Args.All()), "WRONGPASS")
	r.User, r.Stranger = string(shorten([]byte(user), int(s.srv.settings().conf.LogEntryBytes))), true
	a.log.Add(r)
}

// call is a call as the slow log shows it, on one line.
func (a *audits) call(s *session, cmd *commands.Command, argv [][]byte) string {
	var b []byte
	shown := cmd.Shown(argv)
	if strings.HasPrefix(cmd.FullName(), "acl|") {
		shown = aclShown(argv)
	}
	for i, arg := range s.srv.settings().abridge(shown) {
		if i > 0 {
			b = append(b, ' ')
		}
		b = commands.AppendQuoted(b, arg)
	}
	return string(b)
}

// aclWords are rules of users that name nothing.
var aclWords = strings.Fields(`on off nopass reset resetpass resetkeys resetchannels resetdbs allkeys allcommands nocommands allchannels alldbs clearselectors
	sanitize-payload skip-sanitize-payload`)

// aclShown are the arguments of ACL SETUSER and its kin with the names of users and the rules. MONITOR and the slow log show neither; who
// reads an audit log wants to know who may do what since. What does not look like a rule, as a password does, is hidden.
func aclShown(argv [][]byte) [][]byte {
	shown := slices.Clone(argv)
	if len(argv) < 2 || !strings.EqualFold(string(argv[1]), "setuser") {
		return shown
	}
	for i := 3; i < len(argv); i++ {
		rule := strings.ToLower(string(argv[i]))
		if rule == "" || !strings.ContainsRune("+-~%&(", rune(rule[0])) && !strings.HasPrefix(rule, "db=") && !slices.Contains(aclWords, rule) {
			shown[i] = []byte("(redacted)")
		}
	}
	return shown
}

func (a *audits) record(s *session, call, result string) audit.Record {
	return audit.Record{Time: s.srv.clock.Now(), Client: s.ID, Addr: s.address(), Name: s.Text().Name, User: s.access.user.Load().Name(), DB: s.DB(),
		Call: call, Result: result}
}
