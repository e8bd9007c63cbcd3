package server

import "github.com/vigildb/vigil/commands"

// Version is the version of this server.
const Version = commands.Version
