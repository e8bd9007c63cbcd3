package geo

import (
	"math"
	"strconv"

	"github.com/vigildb/vigil/commands"
)

// Errors that only this family returns, word for word as clients see them.
const (
	errCorners        = commands.WireError("ERR invalid number of vertices")
	errFewCorners     = commands.WireError("ERR GEOSEARCH BYPOLYGON must have at least 3 vertices")
	errUnit           = commands.WireError("ERR unsupported unit provided. please use M, KM, FT, MI")
	errRadius         = commands.WireError("ERR need numeric radius")
	errRadiusNegative = commands.WireError("ERR radius cannot be negative")
	errWidth          = commands.WireError("ERR need numeric width")
	errHeight         = commands.WireError("ERR need numeric height")
	errBoxNegative    = commands.WireError("ERR height or width cannot be negative")
	errCount          = commands.WireError("ERR COUNT must be > 0")
	errAnyCount       = commands.WireError("ERR the ANY argument requires COUNT argument")
	errNoMember       = commands.WireError("ERR could not decode requested zset member")
	errStoreRadius    = commands.WireError("ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options")
	errStoreSearch    = commands.WireError("ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options")
)

// errCoordinates is the error of a pair of numbers that is no place.
func errCoordinates(p point) commands.WireError {
	return commands.Errorf("ERR invalid longitude,latitude pair %s,%s", sixDigits(p.lon), sixDigits(p.lat))
}

func sixDigits(v float64) string {
	if math.IsInf(v, 0) {
		return string(commands.AppendFloat(nil, v))
	}
	return strconv.FormatFloat(v, 'f', 6, 64)
}

// errOneCentre and errOneShape are errors of a search, under the name that the client
// wrote.
func errOneCentre(name []byte) commands.WireError {
	return commands.Errorf("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for %s", name)
}

func errOneShape(name []byte) commands.WireError {
	return commands.Errorf("ERR exactly one of BYRADIUS and BYBOX can be specified for %s", name)
}
