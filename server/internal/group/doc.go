// Package group says what a server needs of the machines that hold the same data. Package
// server calls it, server/cluster implements it, and a program that embeds a server
// meets neither: it is alone.
package group
