package conf

// flags of a directive. Programs set back all that CONFIG GET showed but for the immutable
// directives of Redis that they know; others that cannot change are settled.
type flags uint16

const (
	immutable  flags = 1 << iota // only in files and on the command line
	protected                    // CONFIG SET needs enable-protected-configs
	sensitive                    // the value is secret
	hidden                       // CONFIG GET shows it only under its full name
	notLoading                   // CONFIG SET is refused while data is loaded
	rereads                      // the value names what may have changed: to set it again is a change
	always                       // CONFIG REWRITE writes it even at its default
	settled                      // cannot change either, but CONFIG SET accepts the value that it has
	shared                       // describes the data or the service of a group, not the machine: CONFIG SET sets it for all members
)

// effect is what a directive does here.
type effect uint8

const (
	// works: it does what its row says.
	works effect = iota
	// inert: it is checked, stored and shown, and otherwise ignored. Ignoring it
	// makes nothing less safe and changes no data that clients see.
	inert
	// absent: it protects something, or changes what the server is, and vigil
	// does not have it. Only its default is accepted: a server that started
	// anyway would not be what its administrator believes it to be.
	absent
)

// directive is one row of the table.
type directive struct {
	name, alias string
	kind        kind
	def         string // default, as CONFIG GET shows it
	flags       flags
	effect      effect
	doc         string
	// instead tells the user what to do in place of a directive that is absent.
	instead string
	// set copies the value to its field. A directive that works has it.
	set func(*Settings, value)
}

// section is a part of the table with its heading in the documentation.
type section struct {
	title string
	// note says why nothing in the section works here; empty for other sections.
	note string
	rows []directive
}

// sections is the table. Those with a note come last.
func sections() []section {
	return []section{
		{"Network", "", networkRows()},
		{"Encryption", "", tlsRows()},
		{"Process", "", processRows()},
		{"Access", "", accessRows()},
		{"Data on disk", "", diskRows()},
		{"Backups that leave the machine", "", backupRows()},
		{"Memory", "", memoryRows()},
		{"Encodings", "", encodingsRows()},
		{"Filters", "", filtersRows()},
		{"Monitoring", "", watchingRows()},
		{"Replica of a master", "", replicaRows()},
		{"Replicas", "", sourceRows()},
		{"Group of machines", "", groupRows()},
		{"Replication", "For masters of Redis; a group of machines has its own directives (`cluster-members`, docs/cluster.md).", replicationRows()},
		{"Cluster mode", "What `cluster-view` shows of a group needs none of these.", clusterRows()},
		{"Files of Redis", "vigil writes neither an append-only file nor an RDB file.", journalRows()},
		{"Internals of Redis", "vigil works differently, or needs no setting.", engineRows()},
	}
}
