// Package info writes the text of INFO: sections of name:value lines.
//
// It owns the form of the text, and the [Figures] that take long to gather and are shown
// for a while. Sections that need nothing but such figures are written here; those about
// the server are functions of the server, which lists all of them in [Sections].
//
// Figures.Gather locks one shard of the store after the other: who calls it holds none, and
// asks for Figures.Last otherwise.
package info
