// Package importer makes keys of the files of Redis and Valkey: RDB, append-only files, and directories
// of these with a manifest.
//
// The one idea: an RDB file is values, which go straight into databases that no client sees; an append-only
// file is commands, and only a server can run these. So they are run by a server of their own, whose
// clock stands in 1970: nothing expires before the last command was run, as when Redis loads such a file. What
// it then has is copied.
//
// It knows neither the server nor the store: [Keys] and [Workshop] are what it needs of them. It decides nothing
// about keys that are there already. An error has the file, the place and the key; until Run has
// returned nil, nothing that it gave away may count.
package importer
