"""What the originals' public names are, and how they stand here: present, different or absent, and why.

`table` reads the absences (`absent_FRONTEND.txt`), `absent` lets the frontends' modules explain them, and `database`
has all names with the parameters of functions and the members of classes. Nothing here imports a frontend or torch.
"""
