// Package door is how the packages of vigil reach what a server has beyond its public
// methods: server/membership makes it a member of a group, server/window and
// server/metrics look into it, and simulations give it disks that fail.
//
// The one idea: what a program that embeds a server may rely on is what go doc shows
// of package server. The rest goes through here, so that it can change with any
// release.
package door
