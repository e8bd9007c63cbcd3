package conf

import (
	"math"
	"strconv"
	"strings"
)

// replicaRows are those of a server that follows a master.
func replicaRows() []directive {
	return []directive{
		{name: "replicaof", alias: "slaveof", kind: primary(), def: "", flags: immutable | shared,
			doc: "Master of Redis's protocol whose data the server has (docs/migration.md). `REPLICAOF` changes it while the server runs, and alone sets that of a group.",
			set: func(s *Settings, v value) {
				s.MasterHost, s.MasterPort = v.text, 0
				if at := strings.LastIndexByte(v.text, ' '); at >= 0 {
					s.MasterHost = v.text[:at]
					s.MasterPort, _ = strconv.Atoi(v.text[at+1:]) // which was checked
				}
			}},
		{name: "masterauth", alias: "primaryauth", kind: text(), def: "", flags: sensitive,
			doc: "Password at the master.", set: func(s *Settings, v value) { s.MasterAuth = v.text }},
		{name: "masteruser", alias: "primaryuser", kind: text(), def: "", flags: sensitive,
			doc: "User at the master; empty: the default user.", set: func(s *Settings, v value) { s.MasterUser = v.text }},
		{name: "replica-read-only", alias: "slave-read-only", kind: yesNo(), def: "yes",
			doc: "Refuse writes of clients while the server follows a master.", set: func(s *Settings, v value) { s.ReplicaReadOnly = v.n == 1 }},
		{name: "replica-serve-stale-data", alias: "slave-serve-stale-data", kind: yesNo(), def: "yes",
			doc: "Reply to clients while the link to the master is down, also while its data comes as a whole: they see the old data then.",
			set: func(s *Settings, v value) { s.ReplicaServeStaleData = v.n == 1 }},
		{name: "replica-on-error", kind: oneOf("stop", "continue"), def: "stop",
			doc: "What to do when a command of the master fails: stop with `vigil_replication_error` in INFO, keeping the position, or count it and go on with data that differs, as Redis does.",
			set: func(s *Settings, v value) { s.ReplicaPassErrors = v.n == 1 }},
		{name: "replica-unknown-command", kind: oneOf("stop", "skip"), def: "stop",
			doc: "What to do with a command of the master, or a type of value, that vigil does not know: stop, or count it and go on.",
			set: func(s *Settings, v value) { s.ReplicaPassUnknown = v.n == 1 }},
		{name: "replica-announce-ip", alias: "slave-announce-ip", kind: text(), def: "",
			doc: "Address at which the master is to show the server; empty: that of the connection.", set: func(s *Settings, v value) { s.ReplicaAnnounceIP = v.text }},
		{name: "replica-announce-port", alias: "slave-announce-port", kind: integer(0, 65535), def: "0",
			doc: "Port at which the master is to show the server; 0: that it listens on.", set: func(s *Settings, v value) { s.ReplicaAnnouncePort = int(v.n) }},
		{name: "replica-priority", alias: "slave-priority", kind: integer(0, math.MaxInt32), def: "100",
			doc: "What INFO shows for Sentinel.", set: func(s *Settings, v value) { s.ReplicaPriority = int(v.n) }},
		{name: "replica-announced", kind: yesNo(), def: "yes",
			doc: "What INFO shows for Sentinel.", set: func(s *Settings, v value) { s.ReplicaAnnounced = v.n == 1 }},
	}
}
