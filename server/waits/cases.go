package waits

// Cases lists the cases of all commands.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{connectionCases, transactionCases, pubsubCases, serverCases, genericCases,
		stringCases, bitmapCases, listCases, hashCases, hashFieldCases, streamCases, setCases, zsetCases, geoCases, sketchCases, jsonCases, schedCases, placeCases, scriptCases} {
		all = append(all, group...)
	}
	return all
}

// Sizeless says of the other commands why size does not apply to them.
var Sizeless = map[string]string{
	"BLESS": container, "BLESS SET": fixed, "BLESS CLEAR": fixed, "BLESS GET": fixed, "BLESS HELP": fixed, "CLUSTERSCAN": alone, "HELLO": fixed, "SELECT": fixed, "QUIT": fixed, "RESET": "see the connection that leaves in every case",
	"CLIENT": container, "CLIENT ID": fixed, "CLIENT GETNAME": fixed, "CLIENT INFO": fixed, "CLIENT NO-EVICT": fixed,
	"CLIENT NO-TOUCH": fixed, "CLIENT REPLY": fixed, "CLIENT CAPA": fixed, "CLIENT IMPORT-SOURCE": fixed, "CLIENT UNBLOCK": fixed, "CLIENT UNPAUSE": "it ends CLIENT PAUSE",
	"CLIENT PAUSE": "to hold others up is what it is for", "CLIENT GETREDIR": fixed, "CLIENT TRACKINGINFO": fixed,
	"CLIENT HELP": fixed, "MULTI": fixed, "PUBSUB": container, "PUBSUB NUMPAT": fixed, "PUBSUB HELP": fixed,
	"TIME": fixed, "ROLE": fixed, "REPLICAOF": fixed, "FAILOVER": "it works in the background, and holding writes back is what it is for", "SLAVEOF": fixed, "REPLCONF": fixed,
	"VIGIL.CHANGES": container, "VIGIL.CHANGES NOW": fixed, "VIGIL.CHANGES HELP": fixed,
	"VIGIL.CHANGES FROM": "what it reads is bounded by the backlog, and needs no keys",
	"SYNC":               "the keys are sent by others, from a copy", "PSYNC": "see SYNC", "COMMAND": fixed, "COMMAND COUNT": fixed,
	"COMMAND HELP": fixed, "CONFIG": container, "CONFIG RESETSTAT": fixed,
	"CONFIG REWRITE": "it writes the file of the configuration", "CONFIG HELP": fixed,
	"LASTSAVE": fixed, "SHUTDOWN": "nobody is served any more", "SLOWLOG": container, "SLOWLOG LEN": fixed,
	"SLOWLOG HELP": fixed, "COMMANDLOG": container, "COMMANDLOG LEN": fixed, "COMMANDLOG HELP": fixed, "COMMANDLOG GET": "see SLOWLOG GET",
	"COMMANDLOG RESET": "see SLOWLOG RESET", "MEMORY": container, "MEMORY STATS": fixed, "MEMORY DOCTOR": fixed,
	"MEMORY MALLOC-STATS": fixed, "MEMORY HELP": fixed, "LATENCY": container, "LATENCY LATEST": fixed, "LATENCY DOCTOR": fixed,
	"LATENCY HELP": fixed, "HOTKEYS": container, "HOTKEYS START": fixed, "HOTKEYS STOP": fixed, "HOTKEYS GET": fixed, "HOTKEYS RESET": fixed, "HOTKEYS HELP": fixed,
	"MODULE": container, "MODULE LIST": fixed, "MODULE HELP": fixed, "ACL": container, "ACL WHOAMI": fixed, "ACL HELP": fixed,
	"ACL GENPASS": fixed, "ACL LOAD": "it reads a file that an administrator has written", "ACL SAVE": "it writes a file",
	"DEBUG": container, "DEBUG SLEEP": "to hold others up is what it is for", "DEBUG SET-ACTIVE-EXPIRE": fixed,
	"DEBUG RELOAD": debugging, "DEBUG OBJECT": debugging, "DEBUG STRINGMATCH-LEN": debugging,
	"DEBUG CHANGE-REPL-ID": fixed, "DEBUG CONFIG-REWRITE-FORCE-ALL": fixed, "DEBUG JMAP": fixed, "DEBUG HELP": fixed, "OBJECT": container, "OBJECT HELP": fixed,
	"VIGIL.BACKUP": container, "VIGIL.BACKUP NOW": "it works in the background", "VIGIL.BACKUP STATUS": fixed, "VIGIL.BACKUP LIST": fixed, "VIGIL.BACKUP HELP": fixed,
	"VIGIL.SNAPSHOT": container, "VIGIL.SNAPSHOT LIST": fixed, "VIGIL.SNAPSHOT DELETE": "it removes files",
	"VIGIL.SNAPSHOT HELP": fixed, "WAIT": "it waits for replicas", "MIGRATE": "see DUMP and DEL: it sends without locks",
	"PFSELFTEST": fixed, "XGROUP": container, "XGROUP HELP": fixed,
	"XINFO": container, "XINFO HELP": fixed, "BGREWRITEAOF": "it works in the background",
	"EVALSHA": "as EVAL", "EVALSHA_RO": "as EVAL_RO", "SCRIPT": container, "SCRIPT FLUSH": "it drops a table",
	"SCRIPT KILL": fixed, "SCRIPT DEBUG": fixed, "SCRIPT HELP": fixed,
	"FUNCTION": container, "FUNCTION DELETE": libraries, "FUNCTION FLUSH": libraries, "FUNCTION DUMP": libraries,
	"FUNCTION STATS": fixed, "FUNCTION KILL": fixed, "FUNCTION HELP": fixed, "CLIENT CACHING": fixed,
	"DEBUG PAUSE-CRON": fixed, "DEBUG SET-DISABLE-DENY-SCRIPTS": fixed, "DEBUG ERROR": fixed, "DEBUG PROTOCOL": fixed,
	"DEBUG QUICKLIST-PACKED-THRESHOLD": fixed, "DEBUG LOADAOF": debugging, "DEBUG DIGEST": debugging,
	"DEBUG DIGEST-VALUE": debugging, "READONLY": alone, "READWRITE": alone, "ASKING": alone, "CLUSTER": container,
	"CLUSTER HELP": fixed, "SENTINEL": container, "SENTINEL HELP": fixed,
	"VIGIL.CLUSTER": container, "VIGIL.CLUSTER HELP": fixed, "VIGIL.IMPORT": container, "VIGIL.IMPORT STATUS": fixed, "VIGIL.IMPORT STOP": fixed,
	"VIGIL.IMPORT PATH": "it works in the background", "VIGIL.IMPORT HELP": fixed, "VIGIL.EXPORT": container, "VIGIL.EXPORT STATUS": fixed,
	"VIGIL.EXPORT STOP": fixed, "VIGIL.EXPORT PATH": "it works in the background", "VIGIL.EXPORT HELP": fixed,
}

func init() {
	for _, name := range []string{"ADDSLOTS", "ADDSLOTSRANGE", "BUMPEPOCH", "CANCELSLOTMIGRATIONS", "COUNT-FAILURE-REPORTS", "COUNTKEYSINSLOT",
		"DELSLOTS", "DELSLOTSRANGE", "FAILOVER", "FLUSHSLOT", "FLUSHSLOTS", "FORGET", "GETKEYSINSLOT", "GETSLOTMIGRATIONS", "INFO", "KEYSLOT", "LINKS", "MEET",
		"MIGRATESLOTS", "MIGRATION", "MYID", "MYSHARDID", "NODES", "REPLICAS", "REPLICATE", "RESET", "SAVECONFIG", "SET-CONFIG-EPOCH", "SETSLOT", "SHARDS",
		"SLAVES", "SLOT-STATS", "SLOTS"} {
		Sizeless["CLUSTER "+name] = alone
	}
	for _, name := range []string{"CKQUORUM", "FAILOVER", "GET-MASTER-ADDR-BY-NAME", "MASTER", "MASTERS", "MYID", "REPLICAS", "SENTINELS", "SLAVES"} {
		Sizeless["SENTINEL "+name] = fixed
	}
	for _, name := range []string{"BURY", "LEAVE", "REBALANCE", "RECOVER", "REPLACE", "SNAPSHOT", "STATUS", "TRANSFER", "UNSHARE", "UPGRADE"} {
		Sizeless["VIGIL.CLUSTER "+name] = alone
	}
}

const (
	fixed     = "its arguments and its reply have a bounded size, and it works on nothing that grows"
	container = "it only contains commands"
	libraries = "libraries are bounded in all"
	alone     = "it is refused by a server that is in no group"
	debugging = "it is for tests, and is refused unless it is allowed"
)
