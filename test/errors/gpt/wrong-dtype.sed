s/(chars s))) :i32)/(chars s))) :int32)/
