// Package lualib has the libraries that scripts use: those of Lua 5.1 as Redis offers
// them (base, coroutine, string, table, math, os) and those that Redis adds (cjson, cmsgpack,
// struct, bit), for the states of gopher-lua.
//
// gopher-lua's own libraries are not opened: some of their functions run for hours or take
// all memory for a line of script ("a?" 28 times over, string.rep of 2^31), and their
// results and errors differ from Lua's in many places. Here every function has Lua's
// results and texts of errors, and each loop and each allocation that a script can make
// large asks a Meter first.
//
// What the engine does:
//
//   - it makes a state without libraries (Options.SkipOpenLibs) and calls Open once;
//   - it compiles sources with Compile and makes functions of the result with Function,
//     instead of LState.Load.
//
// A Meter's error becomes an error of Lua at the place of the call, and pcall catches
// that as any other. So it must last: once Step or Take has failed, each later call of
// either fails too, and the context of the state is done, which ends the script at its
// next instruction, in whatever function it is. A script that catches the error gets no
// further. A loop of functions of this package without an instruction between (sort with
// a function of this package to compare) ends because each of them asks the Meter.
//
// What a script returned from redis-server is recorded in testdata and compared in each
// test run; make conformance-redis compares with a server, generated scripts too.
// Differences that remain are listed in docs/compatibility.md.
package lualib
