// Package lua runs the scripts and functions of clients. An Engine has a state of gopher-lua
// for scripts and one for functions, because one of either runs at a time; the server sees
// to that. It keeps the scripts that were sent by their SHA1 digests and the libraries of functions, both
// compiled once.
//
// A script reaches the keyspace through [Server] alone. Command replies become Lua
// values, and the value that the script returns becomes its reply, as in Redis.
//
// What a script may use is bounded: a [guard] counts its instructions and allocations,
// and ends it when it was killed or takes too much memory. After each script the state is
// as before, because globals and libraries are read-only, but for the settings of cjson,
// which last until SCRIPT FLUSH or FUNCTION FLUSH; a state whose script was ended is not
// used again.
package lua
