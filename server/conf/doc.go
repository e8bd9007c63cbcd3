// Package conf is the configuration: redis.conf files, command lines, CONFIG
// GET, CONFIG SET and CONFIG REWRITE.
//
// The one idea: a directive is one row of a table (name, kind, default, flags,
// what it does, where it goes), and the text that CONFIG GET shows is the
// truth. Everything else is derived from the row and the text: the typed
// [Settings] that the server reads, the lines of a rewritten file, and
// docs/configuration.md.
//
// It promises:
//   - [Config.Settings] is one atomic load of an immutable value, so hot paths
//     may read the configuration for every command;
//   - CONFIG SET of several pairs happens wholly or not at all, hooks included;
//   - every directive of Redis 7.0 to 7.4 is known, and its row says whether it
//     works, has no effect, or is absent. What is absent is refused unless it has
//     its default; a misspelt name is an error that names the nearest directive;
//   - error texts are the same as in Redis;
//   - CONFIG REWRITE leaves a file alone except for the lines that have to
//     change, and replaces it atomically.
//
// It does not listen, log or change the directory of the process: the server
// reads Settings, and registers hooks for what must happen when they change.
package conf
