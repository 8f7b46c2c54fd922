assay_room_libraries(base xxhash)
