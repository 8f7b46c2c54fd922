# The rooms of the architecture, in the order of the flow. A room may include only the rooms it names here (and what those
# name); tools/check_rooms.py reads this same file and prints every illegal include.
#
#   assay_room(NAME [rooms it may include ...])

assay_room(base)
assay_room(tensor base)
assay_room(graph tensor)
assay_room(formats graph)
assay_room(models formats)
assay_room(kernels tensor)
assay_room(ops kernels graph)
assay_room(engine ops)
assay_room(quant engine)
assay_room(text base)
assay_room(vision tensor)
assay_room(workloads engine models formats text vision)
assay_room(bench workloads)
assay_room(report base)
assay_room(runs bench quant report)
assay_room(app runs)
